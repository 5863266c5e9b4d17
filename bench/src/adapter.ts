import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { collectDecision, type ToolSpec } from "@drover/model";
import { createOpenAiGateway } from "@drover/model/openai";
import { startPostgres } from "@drover/testkit";
import OpenAI from "openai";
import { toolRows } from "./adapter-tools.ts";
import { percentile, report, rowAgainst } from "./run.ts";

/** Tokens of a turn, one a chunk, as most providers stream them. */
const tokens = 20_000;
const runs = 11;
const warmUps = 3;

const words = [
  "The",
  " order",
  " of",
  " row",
  " [4]",
  " is",
  " `paid`",
  ",",
  " if",
  " a",
  " < b",
  ".\n",
  " It",
  " follows",
];
const tools: readonly ToolSpec[] = Array.from({ length: 10 }, (_, index) => ({
  name: `tool_${index}`,
  description: "Does something.",
  parameters: { type: "object", properties: { path: { type: "string" } } },
}));

const body = Buffer.from(
  [
    ...Array.from({ length: tokens }, (_, index) => frame({ content: words[index % words.length] }, null)),
    frame({}, "stop"),
    `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 9, completion_tokens: tokens } })}\n\n`,
    "data: [DONE]\n\n",
  ].join(""),
);

function frame(delta: unknown, finish: string | null): string {
  return `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
}

const server = createServer((request, response) => {
  request.resume().on("end", () => response.writeHead(200, { "content-type": "text/event-stream" }).end(body));
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;

const gateway = createOpenAiGateway({ baseUrl, apiKey: "k", model: "m" });
const raw = new OpenAI({ baseURL: baseUrl, apiKey: "k" });

async function ours(): Promise<number> {
  const request = { messages: [{ role: "user", text: "hello" }], tools } as const;
  let characters = 0;
  await collectDecision(gateway.decide(request, { signal: AbortSignal.timeout(60_000) }), (event) => {
    if (event.type === "text") characters += event.text.length;
  });
  return characters;
}

async function peer(): Promise<number> {
  const offered = tools.map(({ name, description, parameters }) => {
    return { type: "function" as const, function: { name, description, parameters: { ...parameters } } };
  });
  const messages = [{ role: "user" as const, content: "hello" }];
  const stream = await raw.chat.completions.create({ model: "m", messages, tools: offered, stream: true });
  let text = "";
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
  return text.length;
}

/** Tokens a second of one turn; throws where the text is not the one that was sent. */
async function rate(side: () => Promise<number>, characters: number): Promise<number> {
  const begun = performance.now();
  const got = await side();
  const seconds = (performance.now() - begun) / 1_000;
  if (got !== characters) throw new Error(`Got ${got} characters of ${characters}.`);
  return tokens / seconds;
}

const characters = Array.from({ length: tokens }, (_, index) => words[index % words.length] ?? "").join("").length;
const rates = { ours: [] as number[], peer: [] as number[] };
for (let run = -warmUps; run < runs; run++) {
  // The two sides take turns, and in which order changes.
  for (const side of run % 2 === 0 ? (["ours", "peer"] as const) : (["peer", "ours"] as const)) {
    const value = await rate(side === "ours" ? ours : peer, characters);
    if (run >= 0) rates[side].push(value);
  }
}
server.close();
server.closeAllConnections();

await using postgres = await startPostgres();
const toolFigures = await toolRows(postgres.url);
report("adapter", `${tokens} tokens a turn, one a chunk, ${runs} turns a side`, [
  rowAgainst(
    "a streamed turn with markup detection, p50",
    "tokens/s",
    percentile(rates.ours, 0.5),
    { name: "OpenAI SDK", value: percentile(rates.peer, 0.5), better: "more" },
    ">= 0.8",
  ),
  ...toolFigures,
]);
