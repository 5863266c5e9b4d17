import { randomUUID } from "node:crypto";
import { AIMessage, HumanMessage, isAIMessage, ToolMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, Send, START, StateGraph } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import pg from "pg";
import { answer, options, thinkFor } from "./options.js";

// The agent of the library's own `createReactAgent`: every tool call is a task of its own, whose result is stored when
// it is there; durability "sync" stores the checkpoint of a step before the next one begins.
const pool = new pg.Pool({ connectionString: options.url, max: options.connections });
const checkpointer = new PostgresSaver(pool);
await checkpointer.setup();

let current = { rounds: 1, modelMs: 0 };
let modelTotalMs = 0;
let onRound = async () => undefined;

async function agent({ messages }) {
  await onRound();
  modelTotalMs += await thinkFor(current.modelMs);
  const done = messages.filter((message) => isAIMessage(message)).length;
  const call = (n) => ({ id: `call_${done}_${n}`, name: "noop", args: { round: done, n }, type: "tool_call" });
  const content = done < current.rounds ? "" : "done";
  const usage_metadata = { input_tokens: 100, output_tokens: 20, total_tokens: 120 };
  return {
    messages: [new AIMessage({ content, usage_metadata, tool_calls: content === "" ? [call(0), call(1)] : [] })],
  };
}

const graph = new StateGraph(MessagesAnnotation)
  .addNode("agent", agent)
  .addNode("tools", async (call) => ({
    messages: [new ToolMessage({ content: "OK: done", tool_call_id: call.id, name: call.name })],
  }))
  .addEdge(START, "agent")
  .addEdge("tools", "agent")
  .addConditionalEdges(
    "agent",
    ({ messages }) => {
      const calls = messages.at(-1)?.tool_calls ?? [];
      return calls.length === 0 ? END : calls.map((call) => new Send("tools", call));
    },
    ["tools", END],
  )
  .compile({ checkpointer });

await answer(async (run, round) => {
  current = run;
  modelTotalMs = 0;
  onRound = round;
  await Promise.all(
    Array.from({ length: run.tasks }, (_, i) =>
      graph.invoke(
        { messages: [new HumanMessage(`Do nothing ${run.rounds} times, ${i}`)] },
        { configurable: { thread_id: randomUUID() }, durability: "sync", recursionLimit: 2 * run.rounds + 10 },
      ),
    ),
  );
  return modelTotalMs;
});
await pool.end();
