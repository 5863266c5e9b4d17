import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { subjects } from "@drover/bus";
import { newId } from "@drover/kernel";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RagUnderTest, startUnderTest, upload } from "./harness.ts";

/** An embedding endpoint that answers documents of one word and lets everything else wait for ever. */
let open = 0;
let closed = 0;
const endpoint = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const { input } = JSON.parse(Buffer.concat(chunks).toString()) as { input: string[] };
    const data = input.map((_, index) => ({ index, embedding: [1, 0, 0, 0, 0, 0, 0, 0] }));
    if (input.every((text) => text === "quick")) {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ data }));
      return;
    }
    open++;
    response.on("close", () => closed++);
  });
});

let rag: RagUnderTest;
beforeAll(async () => {
  await new Promise<void>((resolve) => endpoint.listen(0, "127.0.0.1", resolve));
  rag = await startUnderTest({
    EMBEDDING_MODEL: "test-embedder",
    EMBEDDING_DIMENSIONS: "8",
    OPENAI_BASE_URL: `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}/v1`,
    OPENAI_API_KEY: "none",
    RAG_QUERY_EMBEDDING_TIMEOUT_MS: "60000",
  });
  await rag.documents.uploadDocument(upload("quick.txt", "quick"), rag.as("t1"));
});
afterAll(async () => {
  await rag?.[Symbol.asyncDispose]();
  endpoint.closeAllConnections();
  await new Promise((resolve) => endpoint.close(resolve));
});

test("a cancel heard on the bus closes the embedding calls of its task, and of no other", async () => {
  const taskId = newId();
  const work = [
    rag.retrieval.search({ query: "a long question" }, rag.as("t1", taskId)),
    rag.documents.uploadDocument(upload("long.txt", "a long document"), rag.as("t1", taskId)),
  ].map((call) =>
    call.then(
      () => expect.unreachable("the call should have been stopped"),
      (error: unknown) => error,
    ),
  );
  const other = new AbortController();
  const untouched = rag.retrieval.search(
    { query: "of another task" },
    { ...rag.as("t1", newId()), signal: other.signal },
  );
  const left = untouched.catch((error: unknown) => error);
  await expect.poll(() => open).toBe(3);
  rag.bus.publish(subjects.cancel("t1", taskId), new Uint8Array());
  for (const error of await Promise.all(work)) {
    expect(error).toMatchObject({ code: "CANCELLED", reason: "TASK_CANCELLED" });
  }
  await expect.poll(() => closed).toBe(2);
  const { documents } = await rag.documents.listDocuments({}, rag.as("t1"));
  expect(documents.map((document) => document.name)).toEqual(["quick.txt"]);
  other.abort();
  await left;
  await expect.poll(() => closed).toBe(3);
});
