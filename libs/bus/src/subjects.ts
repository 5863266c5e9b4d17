import { invalidField } from "@drover/kernel";

declare const subjectBrand: unique symbol;
declare const patternBrand: unique symbol;

/** What a message is published on. Only {@link subjects} makes one, so it holds checked tokens and no wildcard. */
export type Subject = string & { readonly [subjectBrand]: true };
/** What a subscription hears: a subject in which a token may be a wildcard. Only {@link patterns} makes one. */
export type SubjectPattern = string & { readonly [patternBrand]: true };

const token = /^[A-Za-z0-9_-]{1,64}$/;
const root = "drover";
const shards = 16;

/**
 * Makes subjects. Each token (tenant, task, trace, …) must be 1 to 64 of A-Z, a-z, 0-9, _ and -, else INVALID_ARGUMENT:
 * a dot, a wildcard or a line end in an id would reach into another tenant's subjects.
 */
export const subjects = {
  /** "Sequence n was committed": a hint for the watchers of a task. */
  event: (tenant: string, task: string) => subject("event", { tenant, task }),
  /** Token deltas of a task. */
  delta: (tenant: string, task: string) => subject("delta", { tenant, task }),
  /** "Revision n was committed": a hint for the watchers of a trace. */
  revision: (tenant: string, trace: string) => subject("rev", { tenant, trace }),
  /** Frames of a trace, for the work queue. The first token is one of 16 shards, the same for the whole trace. */
  trace: (tenant: string, trace: string) => subject("trace", { shard: shardOf(trace), tenant, trace }),
  /** Work of a kind can be claimed. */
  ready: (kind: string) => subject("ready", { kind }),
  /** A task was cancelled. */
  cancel: (tenant: string, task: string) => subject("cancel", { tenant, task }),
  /** A conversation was closed. */
  session: (tenant: string, conversation: string) => subject("session", { tenant, conversation }),
  /** Configuration of a kind was changed. */
  config: (what: string) => subject("config", { what }),
} as const;

/** Makes patterns; those that take ids check them as {@link subjects} does. */
export const patterns = {
  event: (tenant: string, task: string) => exactly(subjects.event(tenant, task)),
  delta: (tenant: string, task: string) => exactly(subjects.delta(tenant, task)),
  revision: (tenant: string, trace: string) => exactly(subjects.revision(tenant, trace)),
  ready: (kind: string) => exactly(subjects.ready(kind)),
  cancel: (tenant: string, task: string) => exactly(subjects.cancel(tenant, task)),
  config: (what: string) => exactly(subjects.config(what)),
  /** Every cancel of every tenant: tokens tenant, task. */
  allCancels: () => wild("cancel", 2),
  /** Every closed conversation of every tenant: tokens tenant, conversation. */
  allSessions: () => wild("session", 2),
  /** Every change of configuration: token what. */
  allConfigs: () => wild("config", 1),
} as const;

/** The tokens of a subject after its kind: for a cancel, tenant and task. */
export function tokensOf(subjectText: string): readonly string[] {
  return subjectText.split(".").slice(2);
}

/** Whether a subject is one that the pattern hears. */
export function matches(pattern: SubjectPattern, subjectText: Subject): boolean {
  const wanted = pattern.split(".");
  const found = subjectText.split(".");
  return wanted.length === found.length && wanted.every((part, index) => part === "*" || part === found[index]);
}

function subject(kind: string, tokens: Readonly<Record<string, string>>): Subject {
  for (const [name, value] of Object.entries(tokens)) {
    if (token.test(value)) continue;
    throw invalidField(name, JSON.stringify(value.slice(0, 80)), "1 to 64 of A-Z, a-z, 0-9, _ and -");
  }
  return [root, kind, ...Object.values(tokens)].join(".") as Subject;
}

function exactly(text: Subject): SubjectPattern {
  return text as string as SubjectPattern;
}

function wild(kind: string, tokens: number): SubjectPattern {
  return [root, kind, ...Array<string>(tokens).fill("*")].join(".") as SubjectPattern;
}

/** FNV-1a, 32 bits (RFC 9923), folded to the number of shards. */
function shardOf(trace: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < trace.length; i++) hash = Math.imul(hash ^ trace.charCodeAt(i), 0x01000193);
  return String((hash >>> 0) % shards);
}
