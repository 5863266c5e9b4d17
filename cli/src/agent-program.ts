import type { Command } from "commander";
import { deleteAgent, getAgent, listAgents, putAgent } from "./commands/agents.ts";
import type { WithSession } from "./program.ts";

/** Adds the commands about agents. */
export function addAgents(program: Command, withSession: WithSession): void {
  const agents = program.command("agents").description("who works on tasks: prompt, model, tools, budgets, verifier");
  agents
    .command("put <file>")
    .description("write the agent in a JSON file (- is standard input); a version in it must be the one that is there")
    .action((file: string, _, command: Command) => withSession(command.optsWithGlobals(), (s) => putAgent(s, file)));
  agents
    .command("list")
    .description("list agents by name")
    .action((_, command: Command) => withSession(command.optsWithGlobals(), listAgents));
  agents
    .command("get <name>")
    .description("show an agent as JSON, as put takes it")
    .action((name: string, _, command: Command) => withSession(command.optsWithGlobals(), (s) => getAgent(s, name)));
  agents
    .command("delete <name>")
    .description("remove an agent; tasks that were submitted with it go on")
    .action((name: string, _, command: Command) => withSession(command.optsWithGlobals(), (s) => deleteAgent(s, name)));
}
