import { attr } from "@drover/tracing/schema";
import { spillName } from "@drover/tracing/spill-name";
import { bytes, cost, count, duration, offset, word } from "./format.ts";
import type { EventView, SpanView } from "./span-view.ts";
import { numberIn } from "./trace-facts.ts";

/** One line of the details: what it is, what it says, and what a person should not overlook. */
export interface Fact {
  readonly label: string;
  readonly value: string;
  readonly warning?: string;
  /** The same in full, where the value is a short form. */
  readonly title?: string;
}

type Read = (key: string) => string | undefined;

/** The small text beside a span's name in its row. */
export function noteOf(span: SpanView): string {
  if (span.error !== "") return span.error;
  const read = readerOf(span);
  switch (span.kind) {
    case "model":
      return read(attr.responseModel) ?? read(attr.requestModel) ?? "";
    case "sandbox":
      return [read(attr.execLanguage), read(attr.execPhase), exitText(read)].filter(Boolean).join(" · ");
    case "rag":
      return read(attr.searchQuery) ?? read(attr.searchCollection) ?? "";
    case "wait":
      return read(attr.waitFor) ?? "waiting";
    case "tool":
      return [read(attr.toolSummary) ?? mainArgument(span), shownText(read)].filter(Boolean).join(" · ");
    default:
      return "";
  }
}

/** What a call that still runs was asked for: the first text among its arguments. */
function mainArgument(span: SpanView): string {
  const input = span.events.find((event) => event.kind === "tool_input")?.text ?? "";
  try {
    const given: unknown = JSON.parse(input);
    const values = typeof given === "object" && given !== null ? Object.values(given) : [];
    return values.find((value) => typeof value === "string" && !value.includes("\n")) ?? "";
  } catch {
    return "";
  }
}

/** Tokens of a model call, 0 for everything else. */
export function tokensOf(span: SpanView): number {
  if (span.kind !== "model") return 0;
  return numberIn(span.attributes[attr.inputTokens]) + numberIn(span.attributes[attr.outputTokens]);
}

/** The facts that a person needs first, in a fixed order; only those that are known. */
export function spanFacts(span: SpanView, traceStartMs: number, nowMs: number): Fact[] {
  const read = readerOf(span);
  const facts: (Fact | undefined)[] = [
    span.forced ? { label: "State", value: "closed by the service", warning: span.error } : undefined,
    span.error === "" ? plain("Summary", read(attr.toolSummary)) : undefined,
    resultFact(read),
    contextFact(read),
    redactedFact(read),
    plain("Waiting for", read(attr.waitFor)),
    plain("Decision", decisionText(read)),
    plain("Approval", read(attr.approvalId)),
    plain("Exit", exitText(read)),
    plain("Memory", sizeText(read(attr.execPeakBytes))),
    plain("Model", read(attr.responseModel) ?? read(attr.requestModel)),
    plain("Tokens", tokensText(read)),
    plain(
      "Cost",
      read(attr.costNanoUsd) === undefined ? undefined : cost(BigInt(Math.round(numberIn(read(attr.costNanoUsd))))),
    ),
    plain("Context", contextText(read)),
    plain("Query", read(attr.searchQuery)),
    plain("Hits", read(attr.searchHits)),
    plain("Task state", read(attr.taskState) === undefined ? undefined : word(read(attr.taskState) ?? "")),
    plain("Call", read(attr.toolCallId)),
    { label: "Started", value: `${offset(span.startMs - traceStartMs)} s` },
    { label: span.endMs === undefined ? "Running for" : "Took", value: duration((span.endMs ?? nowMs) - span.startMs) },
    span.endMs !== undefined && span.endMs < span.startMs
      ? { label: "Clocks", value: "the end lies before the start", warning: "two machines disagree" }
      : undefined,
  ];
  return facts.filter((fact) => fact !== undefined);
}

/** How a decision ended a wait: by whom, and what they said. */
function decisionText(read: Read): string | undefined {
  const decision = read(attr.approvalDecision);
  if (decision === undefined) return undefined;
  const [actor, comment] = [read(attr.actor), read(attr.reason)];
  return `${decision}${actor === undefined ? "" : ` by ${actor}`}${comment === undefined ? "" : `: ${comment}`}`;
}

/** What an event says: its text, or for one without any what its attributes say. */
export function eventText(event: EventView): string {
  if (event.text !== "") return event.text;
  const read: Read = (key) => event.attributes[key];
  switch (event.kind) {
    case "redacted":
      return redactedFact(read)?.value ?? "";
    case "spilled":
      return [spillName(read(attr.spillPointer) ?? ""), shownText(read)].filter(Boolean).join(" · ");
    case "state_changed":
      return [read(attr.taskStateFrom), read(attr.taskState)]
        .filter((state) => state !== undefined)
        .map(word)
        .join(" → ");
    default:
      return "";
  }
}

/** A span's own attributes over those that its events of spilling and redaction carry. */
function readerOf(span: SpanView): Read {
  const own = span.attributes;
  const fromEvents: Record<string, string> = {};
  for (const event of span.events) {
    if (event.kind === "spilled" || event.kind === "redacted") Object.assign(fromEvents, event.attributes);
  }
  return (key) => own[key] ?? fromEvents[key];
}

function plain(label: string, value: string | undefined): Fact | undefined {
  return value === undefined || value === "" ? undefined : { label, value };
}

function resultFact(read: Read): Fact | undefined {
  const characters = read(attr.resultCharacters);
  const pointer = read(attr.spillPointer);
  if (characters === undefined && pointer === undefined) return undefined;
  const size = characters === undefined ? "" : `${count(numberIn(characters))} characters`;
  if (pointer === undefined || pointer === "") return { label: "Result", value: size };
  const spilled = `kept as ${spillName(pointer)}`;
  return { label: "Result", value: [size, spilled].filter(Boolean).join(", "), title: pointer };
}

function contextFact(read: Read): Fact | undefined {
  const text = shownText(read);
  if (text !== "") return { label: "In context", value: text };
  return read(attr.resultCharacters) === undefined ? undefined : { label: "In context", value: "all of it" };
}

/** "2,048 of 40,212 characters", empty where the model saw everything or nothing is known. */
function shownText(read: Read): string {
  const shown = numberIn(read(attr.shownCharacters));
  const whole = numberIn(read(attr.resultCharacters));
  if (read(attr.shownCharacters) === undefined || shown >= whole) return "";
  return `${count(shown)} of ${count(whole)} characters`;
}

function redactedFact(read: Read): Fact | undefined {
  const secrets = numberIn(read(attr.redactedCount));
  if (secrets === 0) return undefined;
  const kinds = read(attr.redactedKinds) ?? "";
  const of = kinds === "" ? "" : ` (${word(kinds).replaceAll(",", ", ")})`;
  return { label: "Redacted", value: `${secrets} ${secrets === 1 ? "secret" : "secrets"}${of}` };
}

function exitText(read: Read): string {
  const code = read(attr.execExitCode);
  const outcome = read(attr.execOutcome);
  const said = outcome === undefined || outcome.toLowerCase() === "exited" ? "" : word(outcome);
  return [code === undefined ? "" : `exit ${code}`, said].filter(Boolean).join(" · ");
}

function sizeText(text: string | undefined): string | undefined {
  return text === undefined ? undefined : bytes(numberIn(text));
}

function tokensText(read: Read): string | undefined {
  if (read(attr.inputTokens) === undefined) return undefined;
  const part = (key: string, name: string) =>
    numberIn(read(key)) > 0 ? ` (${count(numberIn(read(key)))} ${name})` : "";
  const input = `${count(numberIn(read(attr.inputTokens)))} in${part(attr.cachedInputTokens, "cached")}`;
  return `${input} · ${count(numberIn(read(attr.outputTokens)))} out${part(attr.reasoningTokens, "reasoning")}`;
}

function contextText(read: Read): string | undefined {
  const tokens = read(attr.contextTokens);
  if (tokens === undefined) return undefined;
  const budget = numberIn(read(attr.contextBudget));
  return `${count(numberIn(tokens))}${budget > 0 ? ` of ${count(budget)}` : ""} tokens`;
}
