import { create } from "@bufbuild/protobuf";
import { type CallOptions, type Client, createHandlerContext } from "@connectrpc/connect";
import { DroverError, newId } from "@drover/kernel";
import {
  ExecService,
  GetExecutionRequestSchema,
  ReadRequestSchema,
  StartRequestSchema,
} from "@drover/proto/sandbox/v1/exec_service";
import { actingAs } from "@drover/rpc";
import { expect, test } from "vitest";
import type { Elsewhere } from "../domain/session-place.ts";
import { forwardSession } from "./forward-session.ts";
import type { ForwardParts } from "./pass-on.ts";

/** What a call to another instance was made with. */
interface Sent {
  readonly method: string;
  readonly address: string;
  readonly options: CallOptions;
}

/** Handlers whose every task and execution is at `place`; undefined is here. */
function handlers(place: Elsewhere | undefined, answer: () => Promise<object> = async () => ({})) {
  const sent: Sent[] = [];
  const here: string[] = [];
  const shares = { left: 0 };
  const share = {
    kind: "here",
    epoch: 1,
    lost: new AbortController().signal,
    leave: async () => void shares.left++,
  } as const;
  const names = ["start", "read", "writeInput", "signal", "endSession", "getExecution"] as const;
  const answered = (name: string) => async () => {
    here.push(name);
    return {};
  };
  const own = {
    start: answered("start"),
    read: answered("read"),
    writeInput: answered("writeInput"),
    signal: answered("signal"),
    endSession: answered("endSession"),
    getExecution: answered("getExecution"),
  };
  const at = (address: string) =>
    Object.fromEntries(
      names.map((method) => [
        method,
        (_request: unknown, options: CallOptions) => {
          sent.push({ method, address, options });
          return answer();
        },
      ]),
    );
  const parts: ForwardParts = {
    owners: { take: async () => place ?? share, elsewhere: async () => place, runsElsewhere: async () => place },
    // The client has all methods of the service; these are those that are called.
    peers: { at: (address) => at(address) as Partial<Client<typeof ExecService>> as Client<typeof ExecService> },
    live: { byId: () => undefined, get: () => undefined },
  };
  return { made: forwardSession(own, parts), sent, here, shares };
}

function context(header: Record<string, string> = {}) {
  return createHandlerContext({
    service: ExecService,
    method: ExecService.method.start,
    protocolName: "grpc",
    requestMethod: "POST",
    url: "http://here",
    timeoutMs: 7000,
    requestHeader: { "x-drover-identity": "token", traceparent: "trace", authorization: "secret", ...header },
    contextValues: actingAs({ tenant: "acme", subject: "tester", scopes: [] }),
  });
}

const there: Elsewhere = { kind: "there", address: "10.0.0.2:7702" };
const start = create(StartRequestSchema, { taskId: "task" });
const read = create(ReadRequestSchema, { executionId: newId() });
const get = create(GetExecutionRequestSchema, { key: { case: "callId", value: newId() } });

test("what is elsewhere is passed on with token, trace, deadline and cancel, and nothing else", async () => {
  const { made, sent, here } = handlers(there);
  const asked = context();
  await made.start(start, asked);
  await made.read(read, asked);
  await made.getExecution(get, asked);
  expect(here).toEqual([]);
  expect(sent.map(({ method, address }) => [method, address])).toEqual(
    ["start", "read", "getExecution"].map((method) => [method, "10.0.0.2:7702"]),
  );
  for (const { options } of sent) {
    expect(Object.fromEntries(new Headers(options.headers))).toEqual({
      "x-drover-identity": "token",
      "x-drover-forwarded": "1",
      traceparent: "trace",
    });
    expect(options.timeoutMs).toBeGreaterThan(0);
    expect(options.signal?.aborted).toBe(false);
  }
  asked.abort(new DroverError("CANCELLED", "gone"));
  expect(sent.map(({ options }) => options.signal?.aborted)).toEqual([true, true, true]);
});

test("what is here, and what names no task or execution, is answered here", async () => {
  const { made, sent, here, shares } = handlers(undefined);
  await made.start(start, context({ "x-drover-forwarded": "1" }));
  await made.start(create(StartRequestSchema, { taskId: "a b" }), context());
  await made.read(create(ReadRequestSchema, { executionId: "x" }), context());
  expect({ sent, here, left: shares.left }).toEqual({ sent: [], here: ["start", "start", "read"], left: 1 });
});

test("a call that was passed on is never passed on again", async () => {
  const { made, sent } = handlers(there);
  const passedOn = context({ "x-drover-forwarded": "1" });
  const moved = { code: "UNAVAILABLE", reason: "SESSION_MOVED", retryable: true, retryAfterMs: 500 };
  await expect(made.start(start, passedOn)).rejects.toMatchObject(moved);
  await expect(made.read(read, passedOn)).rejects.toMatchObject(moved);
  expect(sent).toEqual([]);
});

test("an owner that does not answer is another try, but its record is here; its refusals are its own", async () => {
  const refuse = (reason: string) =>
    handlers(there, () => Promise.reject(new DroverError("UNAVAILABLE", "no", { reason })));
  const away = refuse("PEER_UNREACHABLE");
  const told = { code: "UNAVAILABLE", reason: "OWNER_UNREACHABLE", retryAfterMs: 1000 };
  await expect(away.made.read(read, context())).rejects.toMatchObject(told);
  await away.made.getExecution(get, context());
  expect(away.here).toEqual(["getExecution"]);
  await expect(refuse("ENGINE_UNAVAILABLE").made.start(start, context())).rejects.toMatchObject({
    reason: "ENGINE_UNAVAILABLE",
  });
});
