import { DroverError, newId } from "@drover/kernel";
import { AccountService } from "@drover/proto/gateway/v1/account_service";
import { ConversationService } from "@drover/proto/memory/v1/conversation_service";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { DocumentService } from "@drover/proto/rag/v1/document_service";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { TraceService } from "@drover/proto/trace/v1/trace_service";
import { exitCodes } from "../exit-codes.ts";
import { CommandFailure } from "../failure.ts";
import { printJson } from "../json-output.ts";
import { paletteOf } from "../render/palette.ts";
import { oneLine, padded } from "../render/terminal-text.ts";
import type { Session } from "../session.ts";

/** One thing that was looked at. */
interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** What was found, in words. */
  readonly found: string;
  /** What to do; empty where ok. */
  readonly advice: string;
}

type CallOptions = { readonly signal: AbortSignal; readonly timeoutMs: number };

/** How long each check waits. */
const timeoutMs = 5000;

/** Checks address, key, every service and the sandbox; prints each as it is known. 0 where all is well, else 1. */
export async function doctor(session: Session): Promise<number> {
  const checks: Check[] = [];
  const note = (check: Check): boolean => {
    checks.push(check);
    if (!session.json) session.terminal.print(checkLines(check, session.terminal.color));
    return check.ok;
  };
  const options = { signal: session.signal, timeoutMs };
  if (await checkEdge(session, options, note)) {
    for (const check of await Promise.all(probes.map((probe) => checkService(session, probe, options)))) note(check);
    note(await checkSandbox(session, options));
    note(await checkLanguages(session, options));
  }
  session.signal.throwIfAborted();
  const ok = checks.every((check) => check.ok);
  if (session.json)
    printJson(session.terminal, { url: session.target.url, ok, checks: checks.map((check) => ({ ...check })) });
  return ok ? exitCodes.ok : exitCodes.failed;
}

async function checkEdge(session: Session, options: CallOptions, note: (check: Check) => boolean): Promise<boolean> {
  const { url } = session.target;
  const reached = () => note({ name: "gateway", ok: true, found: `answers at ${url}`, advice: "" });
  try {
    const { tenantId, subject, scopes } = await session.client(AccountService).whoAmI({}, options);
    reached();
    const source = session.key instanceof CommandFailure ? "" : `from ${session.key.source}: `;
    const found = `${source}${subject} of tenant ${tenantId}, scopes ${scopes.join(" ")}`;
    return note({ name: "key", ok: true, found, advice: "" });
  } catch (caught) {
    const error = DroverError.from(caught);
    const { message, advice } = session.failure(error);
    const refused = error.code === "UNAUTHENTICATED" || error.code === "PERMISSION_DENIED";
    if (refused) reached();
    return note({ name: refused ? "key" : "gateway", ok: false, found: message, advice });
  }
}

interface Probe {
  readonly name: string;
  ask(session: Session, options: CallOptions): Promise<unknown>;
}

const probes: readonly Probe[] = [
  { name: "orchestrator", ask: (session, options) => session.client(TaskService).listTasks({ pageSize: 1 }, options) },
  { name: "sandbox", ask: (session, options) => session.client(ExecService).listExecutions({ pageSize: 1 }, options) },
  { name: "rag", ask: (session, options) => session.client(DocumentService).listDocuments({ pageSize: 1 }, options) },
  {
    name: "memory",
    ask: (session, options) =>
      session.client(ConversationService).listMessages({ conversationId: newId(), pageSize: 1 }, options),
  },
  { name: "trace", ask: (session, options) => session.client(TraceService).listTraces({ pageSize: 1 }, options) },
];

async function checkService(session: Session, { name, ask }: Probe, options: CallOptions): Promise<Check> {
  const began = performance.now();
  try {
    await ask(session, options);
  } catch (caught) {
    const error = DroverError.from(caught);
    // Only the service itself can know that something does not exist.
    if (error.code !== "NOT_FOUND") return failed(session, name, error);
  }
  return { name, ok: true, found: `answers in ${Math.round(performance.now() - began)} ms`, advice: "" };
}

async function checkSandbox(session: Session, options: CallOptions): Promise<Check> {
  const name = "code execution";
  try {
    const health = await session.client(ExecService).checkHealth({}, options);
    const engine = health.daemonVersion === "" ? "no container engine" : `Docker ${health.daemonVersion}`;
    return health.ready
      ? { name, ok: true, found: `ready: ${engine}, isolation ${health.isolation}`, advice: "" }
      : { name, ok: false, found: health.problem, advice: health.advice };
  } catch (caught) {
    return failed(session, name, DroverError.from(caught));
  }
}

async function checkLanguages(session: Session, options: CallOptions): Promise<Check> {
  const name = "languages";
  try {
    const { languages } = await session.client(ExecService).listLanguages({}, options);
    const missing = languages.filter(({ available }) => !available);
    const usable = languages.filter(({ available }) => available).map(({ title }) => title);
    const lacking = missing.length === 0 ? "" : `; missing ${missing.map(({ title }) => title).join(", ")}`;
    const ok = usable.length > 0 && missing.length === 0;
    return {
      name,
      ok,
      found: `${usable.join(", ") || "none"}${lacking}`,
      advice: ok ? "" : "Build the images on the sandbox's host: `make images`.",
    };
  } catch (caught) {
    return failed(session, name, DroverError.from(caught));
  }
}

function failed(session: Session, name: string, error: DroverError): Check {
  const { message, advice } = session.failure(error);
  // The gateway answers in the service's name, so doctor itself cannot be the advice.
  const away = error.code === "UNAVAILABLE" || error.code === "DEADLINE_EXCEEDED";
  return {
    name,
    ok: false,
    found: message,
    advice: away
      ? `Look at the log of the service, and at its /readyz: ${name} must run and reach its database.`
      : advice,
  };
}

function checkLines({ name, ok, found, advice }: Check, color: boolean): string {
  const palette = paletteOf(color);
  const mark = ok ? palette.good("ok ") : palette.bad("bad");
  const line = `${mark}  ${padded(name, 15)} ${oneLine(found)}\n`;
  return advice === "" ? line : `${line}     ${" ".repeat(16)}${oneLine(advice)}\n`;
}
