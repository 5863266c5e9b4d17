import { setTimeout as delay } from "node:timers/promises";
import { newId } from "@drover/kernel";
import type { Message, ModelEvent, ModelGateway } from "@drover/model";
import { listedTool, resultOf, startFakeProvider } from "@drover/orchestrator/test/fake-provider";
import { startInProcess } from "@drover/orchestrator/test/in-process";
import { ToolServerKind } from "@drover/proto/orchestrator/v1/tool_server_service";
import { percentile, type ResultRow, row } from "./run.ts";

const usage = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 0, reasoningTokens: 0, estimated: false };

/** A turn that asks for tools by name, or gives the answer where there are none. */
function turnOf(names: readonly string[], round: number): ModelEvent {
  if (names.length === 0) {
    return { type: "decision", decision: { kind: "final", text: "done" }, usage, model: "m", finishReason: "stop" };
  }
  const toolCalls = names.map((name, n) => {
    return { callId: newId(), providerCallId: `call_${round}_${n}`, name, argumentsJson: JSON.stringify({ round, n }) };
  });
  const decision = { kind: "tool_calls", text: "", toolCalls } as const;
  return { type: "decision", decision, usage, model: "m", finishReason: "tool_calls" };
}

const roundsOf = (messages: readonly Message[]) => messages.filter(({ role }) => role === "assistant").length;

function local(name: string, ms: number) {
  const parameters = { type: "object", properties: { round: { type: "integer" }, n: { type: "integer" } } };
  return {
    spec: { name, description: "Waits.", parameters },
    async execute({ n }: Readonly<Record<string, unknown>>) {
      await delay(ms);
      return { ok: true, errorCode: "", summary: String(n), text: "", artifacts: [], retryable: false };
    },
  };
}

/**
 * Tools against a Postgres database at `url`: how long ten calls of 200 ms take that are made in one turn, from the
 * model's turn until it is asked again; and whether calls fail, and how long a replica takes to offer 1,000 tools, when
 * 20 servers are plugged in and replaced while tasks call them.
 */
export async function toolRows(url: string): Promise<readonly ResultRow[]> {
  return [...(await parallelRows(url)), ...(await hotPlugRows(url))];
}

async function parallelRows(url: string): Promise<readonly ResultRow[]> {
  const rounds = 20;
  const spans: number[] = [];
  let asked = 0;
  const answered = Promise.withResolvers<void>();
  const model: ModelGateway = {
    async *decide({ messages }) {
      const round = roundsOf(messages);
      if (round > 0) {
        spans.push(performance.now() - asked);
        const order = messages.slice(-10).map(({ text }) => text);
        if (order.some((text, n) => text !== `OK: ${n}`)) throw new Error(`Not in call order: ${order.join(", ")}`);
      }
      if (round >= rounds) answered.resolve();
      asked = performance.now();
      yield turnOf(round < rounds ? Array<string>(10).fill("wait") : [], round);
    },
  };
  const settings = { DROVER_PARALLEL_CALLS: "10" };
  await using service = await startInProcess({ url, model, tools: [local("wait", 200)], slots: 4, settings });
  await service.run("Wait in parallel", answered.promise);
  const name = "10 parallel tools of 200 ms, results in call order";
  return [
    row(`${name}, p50`, "ms", percentile(spans, 0.5), "<= 260"),
    row(`${name}, p99`, "ms", percentile(spans, 0.99)),
  ];
}

const servers = Array.from({ length: 20 }, (_, index) => `s${String(index).padStart(2, "0")}`);
const toolsEach = 50;

async function hotPlugRows(url: string): Promise<readonly ResultRow[]> {
  await using started = new AsyncDisposableStack();
  let plugging = true;
  let calls = 0;
  let failed = 0;
  const model: ModelGateway = {
    async *decide({ messages, tools = [] }) {
      const round = roundsOf(messages);
      const results = messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
      for (const { role, text } of results) {
        if (role !== "tool") continue;
        calls += 1;
        if (!text.startsWith("OK: ")) failed += 1;
      }
      const foreign = tools.filter(({ name }) => name.endsWith("__t0")).map(({ name }) => name);
      yield turnOf(plugging ? ["wait", ...foreign.slice(0, 9)] : [], round);
    },
  };
  const settings = { DROVER_TOOL_PRIVATE_HOSTS: "127.0.0.1", DROVER_TOOL_SCHEMA_TOKENS: "1000000" };
  const service = started.use(await startInProcess({ url, model, tools: [local("wait", 5)], slots: 4, settings }));
  const addresses = new Map<string, string>();
  for (const name of servers) {
    const provider = started.use(await startFakeProvider({ name, publicKeys: service.publicKeys }));
    provider.state.tools = Array.from({ length: toolsEach }, (_, index) => listedTool(`t${index}`));
    provider.state.answer = async function* () {
      await delay(20);
      yield resultOf("done");
    };
    addresses.set(name, provider.address);
  }
  const plugged = Promise.withResolvers<void>();
  const load = Promise.all([0, 1].map((n) => service.run(`Call tools ${n}`, plugged.promise)));
  const spans: number[] = [];
  for (let round = 0; round < 5; round++) {
    // Another time-out is another row, so that every server is replaced while it is called.
    for (const name of servers) await put(service, name, addresses.get(name) ?? "", 10_000 + round);
    spans.push(await untilOffered(service, round + 1));
    await delay(1_000);
  }
  plugging = false;
  plugged.resolve();
  await load;
  if (calls === 0) throw new Error("No call was made under load.");
  return [
    row("hot plug of 20 servers of 50 tools, failed calls under load", "calls", failed, "<= 0"),
    row("hot plug of 20 servers of 50 tools, calls under load", "calls", calls),
    row("hot plug of 20 servers of 50 tools, last row to all offered, p50", "ms", percentile(spans, 0.5), "<= 500"),
    row("hot plug of 20 servers of 50 tools, last row to all offered, longest", "ms", percentile(spans, 1)),
  ];
}

type Service = Awaited<ReturnType<typeof startInProcess>>;

async function put(service: Service, name: string, address: string, timeoutMs: number): Promise<void> {
  const server = { name, address, kind: ToolServerKind.GRPC, enabled: true, timeoutMs: BigInt(timeoutMs) };
  await service.servers.putToolServer({ server }, service.as);
}

/** Ms until all servers are offered in at least their `generation`. */
async function untilOffered(service: Service, generation: number): Promise<number> {
  const begun = performance.now();
  for (;;) {
    const { servers: now } = await service.servers.getToolServerStatus({}, service.as);
    const ready = now.filter((one) => one.generation >= generation && one.tools.length === toolsEach);
    if (new Set(ready.map(({ name }) => name)).size === servers.length) return performance.now() - begun;
    await delay(5);
  }
}
