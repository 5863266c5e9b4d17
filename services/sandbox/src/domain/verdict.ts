import { signalName } from "./signal-name.ts";

/** How a run ended. */
export type Verdict =
  | "EXITED"
  | "SIGNALED"
  | "TIMEOUT_WALL"
  | "OOM"
  | "OUTPUT_LIMIT"
  | "DISK_LIMIT"
  | "CANCELLED"
  | "LAUNCH_FAILED"
  | "INFRA_LOST";

/** Why this service ended a run; empty where it did not. */
export type KilledBy = "" | "timeout" | "cancel" | "output" | "operator" | "daemon";

/** What was observed, each fact from who can know it. */
export interface RunFacts {
  /** Set the moment the service decides to end the run, before it does. */
  readonly killedBy: KilledBy;
  /** From process 1: the program exited or was signalled. Absent where process 1 was lost first. */
  readonly exit?: { readonly code: number } | { readonly signal: number };
  /** From process 1: the program could not be started. */
  readonly launchError?: string;
  /** From process 1: the files of the run do not fit into the container. */
  readonly diskFull?: boolean;
  /** The kernel killed something in the container for memory: process 1's count or the engine's flag. */
  readonly oomSeen: boolean;
  /** Why the container, the daemon or the service was lost. */
  readonly lost?: string;
  readonly wallLimitMs: number;
}

/** The verdict with what a caller is told. */
export interface Outcome {
  readonly verdict: Verdict;
  readonly exitCode?: number;
  readonly signal: string;
  readonly killedBy: KilledBy;
  readonly message: string;
}

const sigkill = 9;

/**
 * The verdict as a function of facts alone. A kill of our own explains whatever followed it; exit
 * codes are never read as signals (`exit 137` is an exit); out of memory needs the kernel's word and
 * the program's own death, so that a child killed for memory under a parent that exits 0 is EXITED.
 */
export function outcomeOf(facts: RunFacts): Outcome {
  const { killedBy } = facts;
  if (killedBy === "cancel") return ended("CANCELLED", killedBy, "The run was cancelled.");
  if (killedBy === "timeout") {
    return ended("TIMEOUT_WALL", killedBy, `The program ran longer than ${facts.wallLimitMs} ms and was killed.`);
  }
  if (killedBy === "output") return ended("OUTPUT_LIMIT", killedBy, "The program wrote without end and was killed.");
  if (facts.launchError !== undefined) {
    return ended("LAUNCH_FAILED", "", `The program could not be started: ${facts.launchError}`);
  }
  if (facts.exit === undefined) {
    if (facts.diskFull === true) {
      return ended(
        "DISK_LIMIT",
        "",
        "The files do not fit into /workspace; half of the memory limit is the most it takes.",
      );
    }
    if (facts.oomSeen) return ended("OOM", "", "The container ran out of memory.");
    return ended("INFRA_LOST", killedBy, facts.lost ?? "The container was lost while the program ran.");
  }
  if ("code" in facts.exit) return { ...ended("EXITED", "", exitMessage(facts)), exitCode: facts.exit.code };
  const signal = signalName(facts.exit.signal);
  if (facts.exit.signal === sigkill && facts.oomSeen) {
    return { ...ended("OOM", "", "The program ran out of memory and was killed by the kernel."), signal };
  }
  return { ...ended("SIGNALED", "", `The program was ended by ${signal}.`), signal };
}

/** True where the program came to its own end, so that the changes it made may be taken over. */
export function endedByItself(outcome: Outcome): boolean {
  return outcome.verdict === "EXITED" || outcome.verdict === "SIGNALED";
}

function exitMessage(facts: RunFacts): string {
  const code = facts.exit !== undefined && "code" in facts.exit ? facts.exit.code : 0;
  const memory = facts.oomSeen ? " One of its processes was killed for memory." : "";
  return `The program exited with ${code}.${memory}`;
}

function ended(verdict: Verdict, killedBy: KilledBy, message: string): Outcome {
  return { verdict, signal: "", killedBy, message };
}
