import type { TraceContext } from "@drover/tracing";
import { type Execution, emptyResult } from "../domain/execution.ts";
import type { Language } from "../domain/language.ts";
import { outcomeOf } from "../domain/verdict.ts";
import type { Collected } from "./change-collector.ts";
import type { CommandContainer } from "./command-container.ts";
import type { LiveRun } from "./live-run.ts";
import type { RunPlan } from "./run-driver.ts";
import { runPhase } from "./run-phase.ts";
import type { ChangeBook, CommandEnd, Session } from "./session.ts";
import type { SessionsParts } from "./sessions.ts";
import type { ShellRequest } from "./shell-request.ts";

/** Where a command runs, and who is told that it does. */
export interface CommandPlace {
  readonly run: LiveRun;
  readonly request: ShellRequest;
  readonly trace: TraceContext | undefined;
  readonly session: Session;
  readonly container: CommandContainer;
  readonly onStarted: (at: Date) => void;
}

/** The stated shell. The command is its argument, so that it arrives byte for byte. */
const shell: Language = {
  name: "shell",
  title: "Bash 5.2",
  mainFile: "main.sh",
  command: ["/usr/bin/bash", "-c"],
  environment: { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: "/tmp", LANG: "C.UTF-8", TMPDIR: "/tmp" },
};

/**
 * Runs one command in its session and commits what changed together with its end, in one transaction. Never
 * rejects for what the command or the container does; the end that it gives may not be recorded yet.
 */
export async function runCommand(parts: SessionsParts, place: CommandPlace): Promise<Execution> {
  const { run, session } = place;
  const book: ChangeBook = new Map();
  session.books.add(book);
  // A cancel of the task ends the container, and with it the command.
  const end = () => run.cancel(session.run.cancelSignal.reason === "daemon" ? "daemon" : "cancel");
  session.run.cancelSignal.addEventListener("abort", end, { once: true });
  try {
    const made = await drive(parts, place, book);
    await session.sync(made).catch(() => undefined);
    if (!session.container.alive) session.run.cancel("daemon");
    return made.ended ?? made.endOf({ workspaceVersionAfter: 0, changes: [...book.values()] });
  } finally {
    session.run.cancelSignal.removeEventListener("abort", end);
    session.books.delete(book);
  }
}

/** Takes the command to its end; what it gives makes the record of that, and keeps the one that was made last. */
async function drive(
  parts: SessionsParts,
  place: CommandPlace,
  book: ChangeBook,
): Promise<CommandEnd & { ended?: Execution }> {
  const { run, container } = place;
  const { execution } = run;
  const { tenant, taskId } = execution;
  const span = parts.tracer.start({ tenant, taskId, name: "command", kind: "sandbox", parent: place.trace });
  const onStarted = () => {
    run.startedAt = parts.clock.now();
    place.onStarted(run.startedAt);
  };
  const ran = await runPhase(parts, { run, plan: planOf(place), container, span, onStarted }, "run");
  const outcome = outcomeOf(ran.facts);
  span.end({ error: outcome.verdict === "EXITED" ? undefined : outcome.message });
  const { stdout, stderr, usage } = ran;
  const made: CommandEnd & { ended?: Execution } = {
    id: execution.id,
    book,
    endOf(collected: Collected) {
      const result = {
        ...emptyResult(outcome),
        oomSeen: ran.facts.oomSeen,
        stdout,
        stderr,
        usage,
        ...collected,
      };
      const { startedAt } = run;
      made.ended = { ...execution, ...(startedAt && { startedAt }), endedAt: parts.clock.now(), result };
      return made.ended;
    },
  };
  return made;
}

function planOf({ run: { execution }, request, trace }: CommandPlace): RunPlan {
  return {
    request: {
      ...request,
      language: "shell",
      code: "",
      files: [],
      arguments: [request.command],
      stdin: new Uint8Array(),
      limits: execution.limits,
    },
    language: shell,
    execution,
    files: [],
    imageDigest: "",
    deadlineMs: undefined,
    trace,
  };
}
