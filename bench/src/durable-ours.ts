import { newId } from "@drover/kernel";
import type { ModelGateway } from "@drover/model";
import { startInProcess } from "@drover/orchestrator/test/in-process";
import { createWalMeter, type DurableRun, type DurableSide, readOptions } from "./durable-run.ts";

/** Our side of `durable-steps`, in a process of its own like the others. */
const options = readOptions();
const runs: DurableSide["runs"][number][] = [];
/** Who waits for the answer to a prompt. */
const waiting = new Map<string, () => void>();

let current: DurableRun = { tasks: 1, rounds: 1, modelMs: 0 };
let modelTotalMs = 0;
let onRound: (() => Promise<void>) | undefined;

const usage = { inputTokens: 100, outputTokens: 20, cachedInputTokens: 0, reasoningTokens: 0, estimated: false };
const model: ModelGateway = {
  async *decide({ messages }) {
    await onRound?.();
    const begun = performance.now();
    if (current.modelMs > 0) await new Promise((resolve) => setTimeout(resolve, current.modelMs));
    modelTotalMs += performance.now() - begun;
    const done = messages.filter((message) => message.role === "assistant").length;
    const call = (n: number) => ({
      ...{ callId: newId(), providerCallId: `call_${done}_${n}`, name: "noop" },
      argumentsJson: JSON.stringify({ round: done, n }),
    });
    if (done < current.rounds) {
      const decision = { kind: "tool_calls", text: "", toolCalls: [call(0), call(1)] } as const;
      yield { type: "decision", decision, usage, model: "m", finishReason: "tool_calls" };
      return;
    }
    for (const message of messages) if (message.role === "user") waiting.get(message.text)?.();
    yield { type: "decision", decision: { kind: "final", text: "done" }, usage, model: "m", finishReason: "stop" };
  },
};
const parameters = { type: "object", properties: { round: { type: "integer" }, n: { type: "integer" } } };
const noop = {
  spec: { name: "noop", description: "Does nothing.", parameters },
  execute: async () => ({ ok: true, errorCode: "", summary: "done", text: "", artifacts: [], retryable: false }),
};

await using service = await startInProcess({ url: options.url, model, tools: [noop], slots: options.connections });

async function measure(run: DurableRun): Promise<DurableSide["runs"][number]> {
  current = run;
  modelTotalMs = 0;
  const begun = performance.now();
  const tasks = Array.from({ length: run.tasks }, async (_, i) => {
    const prompt = `Do nothing ${run.rounds} times, ${i}`;
    const answered = Promise.withResolvers<void>();
    waiting.set(prompt, answered.resolve);
    await service.run(prompt, answered.promise);
  });
  await Promise.all(tasks);
  return { ...run, wallMs: performance.now() - begun, modelTotalMs };
}

for (const run of options.runs) runs.push(await measure(run));
const meter = await createWalMeter(options.url);
if (options.walRounds > 0) {
  onRound = meter.mark;
  await measure({ tasks: 1, rounds: options.walRounds, modelMs: 0 });
}
await meter.close();
process.stdout.write(`${JSON.stringify({ runs, wal: meter.marks } satisfies DurableSide)}\n`);
