import { setTimeout as delay } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { DroverError, notFound } from "@drover/kernel";
import { ErasureService } from "@drover/proto/common/v1/erasure_service";
import { ConversationService } from "@drover/proto/memory/v1/conversation_service";
import { FactService } from "@drover/proto/memory/v1/fact_service";
import type { Message } from "@drover/proto/memory/v1/message";
import { RetrievalService } from "@drover/proto/rag/v1/retrieval_service";
import { type Execution, ExecutionSchema, ExecutionState, Verdict } from "@drover/proto/sandbox/v1/exec";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { WorkspaceService } from "@drover/proto/sandbox/v1/workspace_service";
import { callerOf, createIdentityVerifier, type RpcRouter, startRpcServer } from "@drover/rpc";
import { createLogger, createMetrics } from "@drover/runtime";
import { FakeErasures } from "./fake-erasures.ts";
import { FakeFacts } from "./fake-facts.ts";

/** A run as the fake sandbox keeps it. */
interface Run {
  readonly body: string;
  readonly ended: Promise<Execution>;
  readonly stop: AbortController;
}

/** What the fakes saw and hold; a test reads it, and turns faults on. */
class PeerState {
  readonly erasures = new FakeErasures();
  readonly facts = new FakeFacts();
  readonly conversations = new Map<string, Message[]>();
  readonly spills = new Map<string, string>();
  readonly runs = new Map<string, Run>();
  /** Programs that really began, by call id. */
  readonly begun: string[] = [];
  readonly ended: string[] = [];
  /** What programs did, each once it began. */
  readonly effects: Effect[] = [];
  readonly workspaces = new Map<string, string>();
  readonly files = new Map<string, Uint8Array>();
  readonly subjects = new Set<string>();
  readonly scopes = new Set<string>();
  sandboxDown = false;
  memoryDown = false;
  /** So many calls of the sandbox find nobody there. */
  sandboxAway = 0;
  /** So many streams of runs break off when the run was taken. */
  runsBreak = 0;

  answerOfSandbox(): void {
    if (this.sandboxAway <= 0) return;
    this.sandboxAway--;
    throw new DroverError("UNAVAILABLE", "The service sandbox cannot be reached.", { reason: "PEER_UNREACHABLE" });
  }

  note(caller: { readonly tenant: string; readonly subject: string; readonly scopes: readonly string[] }): void {
    this.subjects.add(`${caller.tenant}/${caller.subject}`);
    for (const scope of caller.scopes) this.scopes.add(scope);
  }
}

/** Starts in-process servers that stand for memory, sandbox, rag and trace, on one port each. */
export async function startFakePeers(publicKeys: string) {
  const state = new PeerState();
  await using started = new AsyncDisposableStack();
  const start = async (service: string, routes: (router: RpcRouter) => void) => {
    const server = await startRpcServer({
      service,
      listen: "127.0.0.1:0",
      identity: createIdentityVerifier({ publicKeys, audience: service }),
      logger: createLogger({ service, level: "silent" }),
      metrics: createMetrics(service),
      graceMs: 200,
      routes,
    });
    started.use(server);
    return server.address;
  };
  const { erasures } = state;
  const memory = await start("memory", (router) => {
    router.service(ConversationService, fakeMemory(state)).service(FactService, state.facts.service);
    router.service(ErasureService, erasures.service("memory"));
  });
  const sandbox = await start("sandbox", (router) => {
    router.service(ExecService, fakeExec(state));
    router.service(WorkspaceService, fakeWorkspaces(state)).service(ErasureService, erasures.service("sandbox"));
  });
  const rag = await start("rag", (router) =>
    router.service(RetrievalService, fakeRag()).service(ErasureService, erasures.service("rag")),
  );
  const trace = await start("trace", (router) => router.service(ErasureService, erasures.service("trace")));
  const owned = started.move();
  return {
    state,
    environment: { MEMORY_ADDRESS: memory, SANDBOX_ADDRESS: sandbox, RAG_ADDRESS: rag, TRACE_ADDRESS: trace },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function fakeMemory(state: PeerState): Partial<ServiceImpl<typeof ConversationService>> {
  const append = (conversationId: string, messages: readonly Message[]) => {
    if (state.memoryDown) throw new DroverError("UNAVAILABLE", "The database is not available.");
    const log = state.conversations.get(conversationId) ?? [];
    const known = new Set(log.map((message) => message.clientMessageId));
    log.push(...messages.filter((message) => !known.has(message.clientMessageId)));
    state.conversations.set(conversationId, log);
    return log;
  };
  return {
    appendMessages: ({ conversationId, messages }, context) => {
      state.note(callerOf(context));
      append(conversationId, messages);
      return {};
    },
    buildContext: ({ conversationId, append: messages }, context) => {
      state.note(callerOf(context));
      return { messages: append(conversationId, messages), budget: { windowTokens: 100n, historyTokens: 10n } };
    },
    async putSpill(parts) {
      let pointer = "";
      const decoder = new TextDecoder();
      let text = "";
      for await (const { part } of parts) {
        if (part.case === "header") pointer = `spill://${part.value.conversationId}/${part.value.callId}`;
        else if (part.case === "chunk") text += decoder.decode(part.value, { stream: true });
      }
      state.spills.set(pointer, text);
      return { pointer };
    },
    readSpill: ({ pointer, offset, length }) => {
      const whole = state.spills.get(pointer);
      if (whole === undefined) throw notFound("spill", pointer);
      const text = whole.slice(Number(offset), Number(offset) + length);
      return { text, offset, nextOffset: offset + BigInt(text.length), totalCharacters: BigInt(whole.length) };
    },
  };
}

/** Something that a program did in the world; `completed` once it came to its own end. */
interface Effect {
  readonly callId: string;
  readonly key: string;
  readonly at: number;
  completed: boolean;
}

/** Programs are `sleep N` (ms, words may follow), `stubborn N` (one that nothing stops), `print TEXT`, `print-many N`, `exit N`; anything else prints itself. */
async function program(code: string, signal: AbortSignal): Promise<Partial<Execution>> {
  const [verb, rest = ""] = code.split(/ (.*)/s);
  if (verb === "sleep") {
    const done = await delay(Number.parseInt(rest, 10), true, { signal }).catch(() => false);
    if (!done) return { verdict: Verdict.CANCELLED, killedBy: "cancel" };
    return { verdict: Verdict.EXITED, exitCode: 0, stdout: output(`slept ${rest}`) };
  }
  if (verb === "stubborn") {
    await delay(Number.parseInt(rest, 10));
    return { verdict: Verdict.EXITED, exitCode: 0, stdout: output("never heard of it") };
  }
  if (verb === "exit") return { verdict: Verdict.EXITED, exitCode: Number(rest) };
  const text = verb === "print-many" ? "0123456789".repeat(Number(rest) / 10) : verb === "print" ? rest : code;
  return { verdict: Verdict.EXITED, exitCode: 0, stdout: output(text) };
}

function output(text: string) {
  const head = new TextEncoder().encode(text);
  return { bytesSeen: BigInt(head.length), bytesKept: BigInt(head.length), head, bytesDropped: 0n } as never;
}

function fakeExec(state: PeerState): Partial<ServiceImpl<typeof ExecService>> {
  return {
    async *run(request, context) {
      state.note(callerOf(context));
      state.answerOfSandbox();
      if (state.sandboxDown) {
        throw new DroverError("UNAVAILABLE", "No Docker daemon answers; start one.", { reason: "DOCKER_UNAVAILABLE" });
      }
      const body = `${request.language}\n${request.code}`;
      let run = state.runs.get(request.callId);
      const existing = run !== undefined;
      if (run !== undefined && run.body !== body) throw new DroverError("ALREADY_EXISTS", "Another body.");
      if (run === undefined) {
        state.begun.push(request.callId);
        const effect = { callId: request.callId, key: request.code, at: performance.now(), completed: false };
        state.effects.push(effect);
        const stop = new AbortController();
        const ended = program(request.code, stop.signal).then((facts) => {
          state.ended.push(request.callId);
          effect.completed = facts.verdict === Verdict.EXITED;
          const { callId, language } = request;
          return create(ExecutionSchema, { callId, language, state: ExecutionState.ENDED, ...facts } as never);
        });
        run = { body, ended, stop };
        state.runs.set(request.callId, run);
      }
      yield { sequence: 1n, event: { case: "accepted", value: { executionId: request.callId, existing } } };
      const { stop, ended } = run;
      if (state.runsBreak-- > 0) throw new DroverError("UNAVAILABLE", "The connection broke.");
      context.signal.addEventListener("abort", () => stop.abort(), { once: true });
      yield { sequence: 2n, event: { case: "ended", value: { execution: await ended } } };
    },
    async getExecution({ key }) {
      const callId = key.value ?? "";
      const run = state.runs.get(callId);
      if (run === undefined) throw notFound("execution", callId);
      const running = { id: callId, callId, state: ExecutionState.RUNNING };
      return { execution: state.ended.includes(callId) ? await run.ended : create(ExecutionSchema, running) };
    },
    async signal({ executionId }) {
      const run = state.runs.get(executionId);
      if (run === undefined) throw notFound("execution", executionId);
      run.stop.abort();
      return { execution: await run.ended };
    },
  };
}

function fakeWorkspaces(state: PeerState): Partial<ServiceImpl<typeof WorkspaceService>> {
  return {
    createWorkspace: ({ requestId }) => {
      state.answerOfSandbox();
      const id = state.workspaces.get(requestId) ?? crypto.randomUUID();
      state.workspaces.set(requestId, id);
      return { workspace: { id } };
    },
    putFiles: ({ files }) => {
      for (const file of files) state.files.set(file.path, file.content);
      return {};
    },
    getFiles: ({ paths }) => ({
      files: paths.map((path) => {
        const content = state.files.get(path);
        if (content === undefined) throw notFound("file", path);
        return { path, content, sizeBytes: BigInt(content.length) };
      }),
    }),
    listFiles: () => ({
      files: [...state.files].map(([path, content]) => ({ path, sizeBytes: BigInt(content.length) })),
    }),
    searchFiles: ({ pattern }) => ({ matches: [{ path: "a/b.log", line: 3, text: `found ${pattern}` }] }),
  };
}

function fakeRag(): Partial<ServiceImpl<typeof RetrievalService>> {
  return {
    search: ({ query, collection }) => ({
      passages: [{ documentName: "runbook.md", headingPath: [collection], text: `about ${query}`, start: 1n, end: 9n }],
    }),
  };
}
