import { Decision } from "@drover/proto/orchestrator/v1/approval_service";
import { type Command, InvalidArgumentError } from "commander";
import { decideApproval, listApprovals, watchApprovals } from "./commands/approvals.ts";
import { checkPolicy, deletePolicy, listPolicies, putPolicies } from "./commands/policies.ts";
import type { WithSession } from "./program.ts";
import type { CommonOptions } from "./session.ts";

/** Adds the commands about approvals and policies. */
export function addDecisions(program: Command, withSession: WithSession): void {
  addApprovals(program, withSession);
  addPolicies(program, withSession);
}

function addApprovals(program: Command, withSession: WithSession): void {
  const approvals = program.command("approvals").description("decide on tool calls that wait for somebody");
  approvals
    .command("list")
    .description("list what waits for a decision, newest first")
    .option("--all", "also what was decided", false)
    .option("--task <id>", "only of this task", "")
    .option("--tool <name>", "only of this tool", "")
    .action((_, command: Command) => {
      type Flags = CommonOptions & { readonly all: boolean; readonly task: string; readonly tool: string };
      const options: Flags = command.optsWithGlobals();
      return withSession(options, (s) => listApprovals(s, options));
    });
  approvals
    .command("watch")
    .description("show every change of approvals as it comes")
    .option("--from <n>", "only changes after this sequence", wholeNumber, 0)
    .option("--count <n>", "end after so many changes", wholeNumber, 0)
    .action((_, command: Command) => {
      const options: CommonOptions & { readonly from: number; readonly count: number } = command.optsWithGlobals();
      return withSession(options, (s) => watchApprovals(s, options));
    });
  type Flags = CommonOptions & { readonly comment: string; readonly edit?: string };
  approvals
    .command("approve <approval>")
    .description("let the call run; an approval is its id or the beginning of it")
    .option("--edit <file>", "run it with the arguments in this file (- is standard input) instead")
    .option("--comment <text>", "kept with the approval", "")
    .action((approval: string, _, command: Command) => {
      const { edit, comment, ...options }: Flags = command.optsWithGlobals();
      return withSession(options, (s) => decideApproval(s, approval, { decision: Decision.APPROVE, comment, edit }));
    });
  approvals
    .command("deny <approval>")
    .description("do not let the call run; the task goes on without it")
    .option("--comment <text>", "told to the model", "")
    .action((approval: string, _, command: Command) => {
      const { comment, ...options }: Flags = command.optsWithGlobals();
      const decided = { decision: Decision.DENY, comment, edit: undefined };
      return withSession(options, (s) => decideApproval(s, approval, decided));
    });
}

function addPolicies(program: Command, withSession: WithSession): void {
  const policies = program.command("policies").description("rules on which tool calls may run");
  policies
    .command("put <file>")
    .description("write the rule, or the list of rules, in a JSON file (- is standard input)")
    .action((file: string, _, command: Command) => withSession(command.optsWithGlobals(), (s) => putPolicies(s, file)));
  policies
    .command("list")
    .description("list the rules in the order in which they are asked")
    .action((_, command: Command) => withSession(command.optsWithGlobals(), listPolicies));
  policies
    .command("delete <name>")
    .description("remove a rule")
    .action((name: string, _, command: Command) =>
      withSession(command.optsWithGlobals(), (s) => deletePolicy(s, name)),
    );
  policies
    .command("check <tool> [arguments]")
    .description("say what would become of a call with these arguments (a JSON object), and by which rule")
    .option("--agent <name>", "as this agent", "")
    .action((tool: string, args: string | undefined, _, command: Command) => {
      const options: CommonOptions & { readonly agent: string } = command.optsWithGlobals();
      return withSession(options, (s) => checkPolicy(s, tool, args ?? "{}", options.agent));
    });
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("It must be a whole number from 0.");
  return Number(text);
}
