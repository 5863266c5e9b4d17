import { Mode } from "@drover/proto/orchestrator/v1/task";
import { Command, InvalidArgumentError, Option } from "commander";
import { addAgents } from "./agent-program.ts";
import { cancel } from "./commands/cancel.ts";
import { listDocuments, putDocuments, removeDocument, searchDocuments } from "./commands/doc.ts";
import { doctor } from "./commands/doctor.ts";
import { exec } from "./commands/exec.ts";
import { run } from "./commands/run.ts";
import { tail } from "./commands/tail.ts";
import { deleteTask, listCalls, listSteps, listTransitions, rerunTask, resumeTask } from "./commands/tasks.ts";
import { showTrace } from "./commands/trace-show.ts";
import { addDecisions } from "./decision-program.ts";
import { addPrivacy } from "./privacy-program.ts";
import type { CommonOptions, Session } from "./session.ts";

/** Runs one command's work in a session of its options. */
export type WithSession = (options: CommonOptions, work: (session: Session) => Promise<number>) => Promise<void>;

const modes: readonly { readonly name: string; readonly mode: Mode }[] = [
  { name: "chat", mode: Mode.CHAT },
  { name: "rag", mode: Mode.RAG },
  { name: "react", mode: Mode.REACT },
  { name: "pse", mode: Mode.PSE },
];

/** The command line: names, options and their checks. Every command runs within `withSession`; errors of usage are thrown. */
export function createProgram(withSession: WithSession): Command {
  const program = new Command("drover")
    .description("Run agents, code and searches on Drover, and watch them.")
    .option("--url <address>", "gateway (DROVER_URL, else http://localhost:7700)")
    .option("--key <key>", "API key (DROVER_API_KEY, else .drover/<profile>/api-key found upwards)")
    .option("--json", "print one JSON document")
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError("`drover --help` and `drover COMMAND --help` say what there is.")
    .exitOverride();
  addTaskCommands(program, withSession);
  addTasks(program, withSession);
  addDecisions(program, withSession);
  addAgents(program, withSession);
  addPrivacy(program, withSession);
  addExec(program, withSession);
  addDoc(program, withSession);
  program
    .command("trace")
    .description("look at traces")
    .command("show <trace-or-task>")
    .description("print a trace as a tree with durations and errors")
    .action((id: string, _, command: Command) => withSession(command.optsWithGlobals(), (s) => showTrace(s, id)));
  program
    .command("doctor")
    .description("check the address, the key, every service and the sandbox")
    .action((_, command: Command) => withSession({ ...command.optsWithGlobals(), keyOptional: true }, doctor));
  return program;
}

function addTaskCommands(program: Command, withSession: WithSession): void {
  program
    .command("run <task>")
    .description("submit a task and show it to its end; Ctrl-C leaves it running")
    .addOption(
      new Option("--mode <mode>", "how it is worked on").choices(modes.map(({ name }) => name)).default("react"),
    )
    .option("--file <path...>", "upload files into a new workspace, by their own names")
    .option("--rounds <n>", "most rounds", wholeNumber, 0)
    .option("--collection <name>", "document collection to search in", "")
    .option("--model <name>", "model", "")
    .option("--agent <name>", "agent that works on it", "")
    .option("--budget-seconds <n>", "most seconds of work", wholeNumber, 0)
    .option("--budget-tokens <n>", "most tokens", wholeNumber, 0)
    .option("--budget-cost <usd>", "most money, in USD", usd, 0)
    .option("--budget-calls <n>", "most tool calls", wholeNumber, 0)
    .action((prompt: string, _, command: Command) => {
      const options: CommonOptions & RunFlags = command.optsWithGlobals();
      const { mode } = modes.find(({ name }) => name === options.mode) ?? { mode: Mode.UNSPECIFIED };
      const budgets = {
        maxWallMs: BigInt(options.budgetSeconds * 1_000),
        maxTokens: BigInt(options.budgetTokens),
        maxCostNanoUsd: BigInt(Math.round(options.budgetCost * 1e9)),
        maxToolCalls: options.budgetCalls,
      };
      return withSession(options, (s) => run(s, prompt, { ...options, budgets, mode, files: options.file ?? [] }));
    });
  program
    .command("tail <task>")
    .description("show a task's events and follow it to its end; a task is its id or the beginning of it")
    .option("--from <n>", "only events after this sequence", wholeNumber, 0)
    .action((task: string, _, command: Command) => {
      const options: CommonOptions & { readonly from: number } = command.optsWithGlobals();
      return withSession(options, (s) => tail(s, task, BigInt(options.from)));
    });
  program
    .command("cancel <task>")
    .description("end a task and stop what it runs")
    .option("--reason <text>", "why, kept with the task", "")
    .action((task: string, _, command: Command) => {
      const options: CommonOptions & { readonly reason: string } = command.optsWithGlobals();
      return withSession(options, (s) => cancel(s, task, options.reason));
    });
}

function addTasks(program: Command, withSession: WithSession): void {
  type Budgets = { readonly rounds: number; readonly seconds: number; readonly tokens: number; readonly calls: number };
  type Flags = CommonOptions & Budgets & { readonly cost: number };
  const tasks = program.command("tasks").description("go on with tasks, and look at their records");
  tasks
    .command("resume <task>")
    .description("go on with a task that failed or was cancelled, from its last step")
    .option("--rounds <n>", "most rounds from now on, those before included", wholeNumber, 0)
    .option("--seconds <n>", "most seconds of work, those before included", wholeNumber, 0)
    .option("--tokens <n>", "most tokens from now on, those before included", wholeNumber, 0)
    .option("--cost <usd>", "most money, what was spent before included", usd, 0)
    .option("--calls <n>", "most tool calls, those before included", wholeNumber, 0)
    .action((task: string, _, command: Command) => {
      const options: Flags = command.optsWithGlobals();
      const budgets = {
        maxRounds: options.rounds,
        maxWallMs: BigInt(options.seconds * 1_000),
        maxTokens: BigInt(options.tokens),
        maxCostNanoUsd: BigInt(Math.round(options.cost * 1e9)),
        maxToolCalls: options.calls,
      };
      return withSession(options, (s) => resumeTask(s, task, budgets));
    });
  const plain = [
    ["rerun", "submit a task again, as a new one", rerunTask],
    ["delete", "remove a task that has ended, and its records", deleteTask],
    ["transitions", "list what states a task was in, who brought it there and why", listTransitions],
    ["steps", "list the steps of a task", listSteps],
    ["calls", "list the tool calls of a task", listCalls],
  ] as const;
  for (const [name, description, work] of plain) {
    tasks
      .command(`${name} <task>`)
      .description(description)
      .action((task: string, _, command: Command) => withSession(command.optsWithGlobals(), (s) => work(s, task)));
  }
}

interface RunFlags {
  readonly mode: string;
  readonly file?: readonly string[];
  readonly rounds: number;
  readonly collection: string;
  readonly model: string;
  readonly agent: string;
  readonly budgetSeconds: number;
  readonly budgetTokens: number;
  readonly budgetCost: number;
  readonly budgetCalls: number;
}

function addExec(program: Command, withSession: WithSession): void {
  program
    .command("exec <file> [arguments...]")
    .description("run a program in the sandbox (- reads it from standard input); its arguments go after --")
    .requiredOption("--lang <name>", "language, e.g. python")
    .option("--stdin <path>", "the program's standard input (- is ours)")
    .action((source: string, args: readonly string[], _, command: Command) => {
      const options: CommonOptions & { readonly lang: string; readonly stdin?: string } = command.optsWithGlobals();
      return withSession(options, (s) =>
        exec(s, { language: options.lang, source, stdin: options.stdin, arguments: args }),
      );
    });
}

function addDoc(program: Command, withSession: WithSession): void {
  type Flags = CommonOptions & { readonly collection: string; readonly limit: number };
  const collection = ["--collection <name>", "document collection", ""] as const;
  const doc = program.command("doc").description("documents that agents may look things up in");
  doc
    .command("put <file...>")
    .description("upload text or Markdown; a name that is there is replaced")
    .option(...collection)
    .action((files: readonly string[], _, command: Command) => {
      const options: Flags = command.optsWithGlobals();
      return withSession(options, (s) => putDocuments(s, files, options.collection));
    });
  doc
    .command("list")
    .description("list documents")
    .option(...collection)
    .action((_, command: Command) => {
      const options: Flags = command.optsWithGlobals();
      return withSession(options, (s) => listDocuments(s, options.collection));
    });
  doc
    .command("search <query>")
    .description("print the best passages")
    .option(...collection)
    .option("--limit <n>", "most passages", wholeNumber, 0)
    .action((query: string, _, command: Command) => {
      const options: Flags = command.optsWithGlobals();
      return withSession(options, (s) => searchDocuments(s, query, options));
    });
  doc
    .command("rm <id>")
    .description("delete a document")
    .action((id: string, _, command: Command) => withSession(command.optsWithGlobals(), (s) => removeDocument(s, id)));
}

function usd(text: string): number {
  if (!/^\d{1,6}(\.\d{1,9})?$/.test(text)) throw new InvalidArgumentError("It must be an amount of USD, e.g. 0.25.");
  return Number(text);
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError("It must be a whole number from 0.");
  return Number(text);
}
