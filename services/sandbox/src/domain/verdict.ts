import { signalName } from "./signal-name.ts";

/** How a run ended. */
export type Verdict =
  | "EXITED"
  | "SIGNALED"
  | "TIMEOUT_WALL"
  | "TIMEOUT_CPU"
  | "OOM"
  | "OUTPUT_LIMIT"
  | "DISK_LIMIT"
  | "CANCELLED"
  | "LAUNCH_FAILED"
  | "INFRA_LOST";

/** Why this service ended a run; empty where it did not. */
export type KilledBy = "" | "timeout" | "cancel" | "output" | "operator" | "daemon";

/** The step of a run in which it ended; languages that are not compiled have the second one only. */
export type Phase = "compile" | "run";

/** What was observed, each fact from who can know it. */
export interface RunFacts {
  /** Set the moment the service decides to end the run, before it does. */
  readonly killedBy: KilledBy;
  /** From process 1: the program exited or was signalled. Absent where process 1 was lost first. */
  readonly exit?: { readonly code: number } | { readonly signal: number };
  /** From process 1: the program could not be started. */
  readonly launchError?: string;
  /** From process 1: /workspace or /tmp was full when the program ended, or its files did not fit at all. */
  readonly diskFull?: boolean;
  /** From process 1: it killed the phase because its processes had used up their CPU time. */
  readonly cpuExceeded?: boolean;
  /** The kernel killed something in the container for memory: process 1's count or the engine's flag. */
  readonly oomSeen: boolean;
  /** From process 1: another command of the session ran meanwhile, and what was killed may be a process of that. */
  readonly beside?: boolean;
  /** Why the container, the daemon or the service was lost. */
  readonly lost?: string;
  readonly wallLimitMs: number;
  readonly cpuLimitMs?: number;
  /** Absent for the program itself. */
  readonly phase?: Phase;
}

/** The verdict with what a caller is told. */
export interface Outcome {
  readonly verdict: Verdict;
  readonly exitCode?: number;
  readonly signal: string;
  readonly killedBy: KilledBy;
  /** Absent for the program itself, and where none began. */
  readonly phase?: Phase;
  readonly message: string;
}

const sigkill = 9;
const sigxfsz = 25;

/**
 * The verdict as a function of facts alone. A kill of our own explains whatever followed it; exit
 * codes are never read as signals (`exit 137` is an exit); out of memory needs the kernel's word and
 * the program's own death, so that a child killed for memory under a parent that exits 0 is EXITED;
 * a full disk needs a program that failed.
 */
export function outcomeOf(facts: RunFacts): Outcome {
  const outcome = ourEnd(facts) ?? ownEnd(facts);
  return facts.phase === "compile" ? { ...outcome, phase: "compile" } : outcome;
}

/** True where the program came to its own end, so that the changes it made may be taken over. */
export function endedByItself(outcome: Outcome): boolean {
  return outcome.phase !== "compile" && (outcome.verdict === "EXITED" || outcome.verdict === "SIGNALED");
}

/** What the service or its process 1 decided; undefined where the program's end was its own. */
function ourEnd(facts: RunFacts): Outcome | undefined {
  const { killedBy } = facts;
  const who = subjectOf(facts);
  switch (killedBy) {
    case "cancel":
      return ended("CANCELLED", killedBy, "The run was cancelled.");
    case "timeout":
      return ended("TIMEOUT_WALL", killedBy, `${who} ran longer than ${facts.wallLimitMs} ms and ${stopped(facts)}.`);
    case "output":
      return ended("OUTPUT_LIMIT", killedBy, `${who} wrote without end and was killed.`);
    default:
      return facts.cpuExceeded === true ? cpuUsedUp(facts, who) : undefined;
  }
}

/** A command is told to end before it is killed, and may do so. */
function stopped({ exit }: RunFacts): string {
  return exit !== undefined && "code" in exit ? `was told to end, and exited with ${exit.code}` : "was killed";
}

function cpuUsedUp(facts: RunFacts, who: string): Outcome {
  const message = `${who} used more than ${facts.cpuLimitMs} ms of CPU time and was killed.`;
  return ended("TIMEOUT_CPU", "timeout", message);
}

function ownEnd(facts: RunFacts): Outcome {
  const who = subjectOf(facts);
  if (facts.launchError !== undefined) {
    return ended("LAUNCH_FAILED", "", `${who} could not be started: ${facts.launchError}`);
  }
  if (facts.exit === undefined) return lost(facts);
  if ("code" in facts.exit) {
    const { code } = facts.exit;
    // A compiler is a tree of programs of which the first survives; the others are no children of its own making.
    if (facts.phase === "compile" && code !== 0 && facts.oomSeen) {
      return { ...ended("OOM", "", "The compiler ran out of memory."), exitCode: code };
    }
    const full = facts.diskFull === true && code !== 0;
    return { ...ended(full ? "DISK_LIMIT" : "EXITED", "", exitMessage(facts, code)), exitCode: code };
  }
  const signal = signalName(facts.exit.signal);
  if (facts.exit.signal === sigkill && facts.oomSeen) {
    return { ...ended("OOM", "", `${who} ran out of memory and was killed by the kernel.`), signal };
  }
  if (facts.exit.signal === sigxfsz || facts.diskFull === true) {
    return { ...ended("DISK_LIMIT", "", `${who} wrote more than fits and was ended by ${signal}.`), signal };
  }
  return { ...ended("SIGNALED", "", `${who} was ended by ${signal}.`), signal };
}

function lost({ diskFull, oomSeen, killedBy, lost: why }: RunFacts): Outcome {
  if (diskFull === true) {
    const message = "The files do not fit into /workspace; half of the memory limit is the most it takes.";
    return ended("DISK_LIMIT", "", message);
  }
  if (oomSeen) return ended("OOM", "", "The container ran out of memory.");
  return ended("INFRA_LOST", killedBy, why ?? "The container was lost while the program ran.");
}

function subjectOf({ phase }: RunFacts): string {
  return phase === "compile" ? "The compiler" : "The program";
}

function exitMessage(facts: RunFacts, code: number): string {
  const whose = facts.beside === true ? "A process of its session" : "One of its processes";
  const memory = facts.oomSeen ? ` ${whose} was killed for memory.` : "";
  const disk = facts.diskFull === true ? " /workspace or /tmp was full." : "";
  return `${subjectOf(facts)} exited with ${code}.${memory}${disk}`;
}

function ended(verdict: Verdict, killedBy: KilledBy, message: string): Outcome {
  return { verdict, signal: "", killedBy, message };
}
