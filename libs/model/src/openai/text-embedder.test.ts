import { expect, test } from "vitest";
import { startWireServer, status } from "../../test/wire-server.ts";
import { createOpenAiEmbedder } from "./text-embedder.ts";

const vectors = (...rows: readonly { index: number; embedding: number[] }[]) =>
  status(200, { object: "list", model: "e", data: rows, usage: { prompt_tokens: 1, total_tokens: 1 } });

test("splits by the batch limit, orders by index, scales to unit length and never sends an empty text", async () => {
  await using server = await startWireServer(
    vectors({ index: 1, embedding: [0, 5] }, { index: 0, embedding: [3, 4] }),
    vectors({ index: 0, embedding: [0, 0] }),
  );
  const embedder = createOpenAiEmbedder({
    baseUrl: server.baseUrl,
    apiKey: "k",
    model: "e",
    dimensions: 2,
    maxBatch: 2,
  });
  expect(await embedder.embed(["a", "", "c"], "document")).toEqual([
    [0.6, 0.8],
    [0, 1],
    [1, 0],
  ]);
  expect(server.seen.map((request) => request.body.input)).toEqual([["a", " "], ["c"]]);
  expect(embedder.id).toBe("e-2");
});

test.each([
  ["another number of vectors", vectors({ index: 0, embedding: [1, 0] }), "1 vectors for 2 texts"],
  ["another length", vectors({ index: 0, embedding: [1] }, { index: 1, embedding: [1] }), "a vector of 1 numbers"],
])("refuses an answer with %s", async (_, answer, words) => {
  await using server = await startWireServer(answer);
  const embedder = createOpenAiEmbedder({ baseUrl: server.baseUrl, apiKey: "k", model: "e", dimensions: 2 });
  await expect(embedder.embed(["a", "b"], "query")).rejects.toMatchObject({
    code: "FAILED_PRECONDITION",
    message: expect.stringContaining(words),
  });
});
