import { fromJson } from "@bufbuild/protobuf";
import { type Agent, AgentSchema, AgentService } from "@drover/proto/orchestrator/v1/agent_service";
import { exitCodes } from "../exit-codes.ts";
import { usageFailure } from "../failure.ts";
import { jsonOf, printJson } from "../json-output.ts";
import { readSource } from "../local-files.ts";
import { plural } from "../render/figures.ts";
import { oneLine, padded } from "../render/terminal-text.ts";
import type { Session } from "../session.ts";

/**
 * Writes the agent of a file, as proto3 JSON. A version in the file is the one that is to be replaced; with another one
 * there nothing is written.
 */
export async function putAgent(session: Session, path: string): Promise<number> {
  const agent = await readAgent(session, path);
  const request = { agent, expectedVersion: agent.version };
  const answer = await session.client(AgentService).putAgent(request, { signal: session.signal });
  return show(session, answer.agent);
}

/** Shows one agent whole. */
export async function getAgent(session: Session, name: string): Promise<number> {
  const answer = await session.client(AgentService).getAgent({ name }, { signal: session.signal });
  return show(session, answer.agent);
}

/** Lists the tenant's agents by name. */
export async function listAgents(session: Session): Promise<number> {
  const { terminal, signal } = session;
  const agents: Agent[] = [];
  let pageToken = "";
  do {
    const page = await session.client(AgentService).listAgents({ pageSize: 500, pageToken }, { signal });
    agents.push(...page.agents);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  if (session.json) printJson(terminal, { agents: agents.map((agent) => jsonOf(AgentSchema, agent)) });
  else if (agents.length === 0) terminal.print("No agents. Add one: drover agents put FILE\n");
  else for (const agent of agents) terminal.print(`${lineOf(agent)}\n`);
  return exitCodes.ok;
}

/** Removes an agent; one that is not there too. */
export async function deleteAgent(session: Session, name: string): Promise<number> {
  await session.client(AgentService).deleteAgent({ name }, { signal: session.signal });
  if (session.json) printJson(session.terminal, { name });
  else session.terminal.print(`agent ${oneLine(name)} is deleted; its tasks go on\n`);
  return exitCodes.ok;
}

async function readAgent(session: Session, path: string): Promise<Agent> {
  const text = new TextDecoder().decode(await readSource(path, session.terminal));
  try {
    return fromJson(AgentSchema, JSON.parse(text));
  } catch (error) {
    const why = error instanceof Error ? error.message : "it cannot be read";
    const advice = 'Write an agent as JSON, e.g. {"name": "reader", "prompt": "You sum up.", "tools": ["read_file"]}.';
    throw usageFailure(`${path} holds no agent: ${oneLine(why)}`, advice);
  }
}

/** An agent as a file of `agents put` has it. */
function show({ json, terminal }: Session, agent: Agent | undefined): number {
  const body = agent === undefined ? {} : jsonOf(AgentSchema, agent);
  if (json) printJson(terminal, { agent: body });
  else terminal.print(`${JSON.stringify(body, null, 2)}\n`);
  return exitCodes.ok;
}

function lineOf({ name, version, model, tools, verifier }: Agent): string {
  const facts = [
    `version ${version}`,
    model === "" ? "default model" : model,
    tools.length === 0 ? "all tools" : plural(tools.length, "tool"),
    `verifier ${verifier?.check.case ?? "default"}`,
  ];
  return `${padded(oneLine(name), 24)}  ${facts.map(oneLine).join(" · ")}`;
}
