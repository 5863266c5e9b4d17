import { randomUUID } from "node:crypto";
import { DBOS } from "@dbos-inc/dbos-sdk";
import { answer, options, thinkFor } from "./options.js";

// Every turn of the model and every tool call is a step, whose result is stored before the workflow goes on.
let modelTotalMs = 0;
let onRound = async () => undefined;

async function ask(done, rounds, modelMs) {
  await onRound();
  modelTotalMs += await thinkFor(modelMs);
  const call = (n) => ({ id: `call_${done}_${n}`, name: "noop", arguments: JSON.stringify({ round: done, n }) });
  const usage = { inputTokens: 100, outputTokens: 20 };
  return done < rounds ? { text: "", toolCalls: [call(0), call(1)], usage } : { text: "done", toolCalls: [], usage };
}

const noop = async (call) => ({ id: call.id, name: call.name, text: "OK: done" });

const agent = DBOS.registerWorkflow(
  async (prompt, rounds, modelMs) => {
    const messages = [{ role: "user", text: prompt }];
    for (let done = 0; ; done++) {
      const turn = await DBOS.runStep(() => ask(done, rounds, modelMs), { name: "model" });
      messages.push({ role: "assistant", ...turn });
      if (turn.toolCalls.length === 0) return turn.text;
      const results = await Promise.all(turn.toolCalls.map((call) => DBOS.runStep(() => noop(call), { name: "tool" })));
      messages.push(...results.map((result) => ({ role: "tool", ...result })));
    }
  },
  { name: "agent" },
);

DBOS.setConfig({
  name: "bench",
  systemDatabaseUrl: options.url,
  systemDatabasePoolSize: options.connections,
  logLevel: "error",
});
await DBOS.launch();
await answer(async (run, round) => {
  modelTotalMs = 0;
  onRound = round;
  const started = await Promise.all(
    Array.from({ length: run.tasks }, (_, i) =>
      DBOS.startWorkflow(agent, { workflowID: randomUUID() })(
        `Do nothing ${run.rounds} times, ${i}`,
        run.rounds,
        run.modelMs,
      ),
    ),
  );
  await Promise.all(started.map((handle) => handle.getResult()));
  return modelTotalMs;
});
await DBOS.shutdown();
