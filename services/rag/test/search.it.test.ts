import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RagUnderTest, startUnderTest, upload } from "./harness.ts";

const runbook = `# Payment runbook

## Pending orders

An order stays in *payment pending* when the gateway answers with a time-out and the callback is lost.
Query the gateway by its reference and then settle or void the order.

## Refunds

Refunds above 500 EUR need a second approval by the finance team.

## 退款流程

金额超过五百欧元的退款需要财务部门的第二次审批。退款会在三个工作日内到账。

## 订单状态

网关超时后订单会停留在待支付状态，请先查询网关流水号。
`;

let rag: RagUnderTest;
beforeAll(async () => {
  rag = await startUnderTest();
  await rag.documents.uploadDocument(upload("runbook.md", runbook), rag.as("t1"));
  for (let n = 0; n < 30; n++) {
    const text = `# Note ${n}\n\nThe cafeteria serves soup number ${n} on weekdays. 食堂每天供应第${n}号汤。`;
    await rag.documents.uploadDocument(upload(`note-${n}.md`, text), rag.as("t1"));
  }
});
afterAll(() => rag[Symbol.asyncDispose]());

describe("Search", () => {
  it.each([
    ["Why is an order stuck in payment pending?", ["Payment runbook", "Pending orders"]],
    ["who has to approve a large refund", ["Payment runbook", "Refunds"]],
    ["退款需要谁审批", ["Payment runbook", "退款流程"]],
    ["订单为什么一直待支付", ["Payment runbook", "订单状态"]],
    ["gateway 网关 流水号", ["Payment runbook", "订单状态"]],
  ])("finds for %j the right section", async (query, headingPath) => {
    const { passages } = await rag.retrieval.search({ query, limit: 3 }, rag.as("t1"));
    expect(passages[0]).toMatchObject({ documentName: "runbook.md", headingPath, lexicalRank: expect.any(Number) });
    expect(passages[0]?.text).toBe(runbook.slice(Number(passages[0]?.start), Number(passages[0]?.end)));
    expect(passages).toHaveLength(3);
    expect(passages.map((p) => p.score)).toEqual(passages.map((p) => p.score).toSorted((a, b) => b - a));
    expect(passages[0]?.lexicalRank).toBeGreaterThan(0);
  });

  it("takes marks, operators and nothing but stop words in a query without harm", async () => {
    for (const query of ["'); DROP TABLE rag.chunk; --", "a & | ! <-> :*", "the of and", "😀", "\\"]) {
      await expect(rag.retrieval.search({ query }, rag.as("t1"))).resolves.toMatchObject({ vectorLegSkipped: false });
    }
  });

  it("answers with nothing for a collection or tenant without documents", async () => {
    expect((await rag.retrieval.search({ query: "refund", collection: "other" }, rag.as("t1"))).passages).toEqual([]);
    expect((await rag.retrieval.search({ query: "refund" }, rag.as("nobody"))).passages).toEqual([]);
  });

  it.each([
    [{ query: "  " }, "query"],
    [{ query: "x".repeat(2001) }, "query"],
    [{ query: "x", limit: 51 }, "limit"],
    [{ query: "x", limit: -1 }, "limit"],
    [{ query: "x", collection: "A B" }, "collection"],
  ])("refuses %j by its %s", async (request, field) => {
    await expect(rag.retrieval.search(request, rag.as("t1"))).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      violations: [expect.objectContaining({ field })],
    });
  });
});

describe("with an embedding endpoint", () => {
  it("uses its vectors, answers by words alone while it is away, and refuses another model", async () => {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const { input } = JSON.parse(Buffer.concat(chunks).toString()) as { input: string[] };
        const data = input.map((text, index) => ({ index, embedding: vectorOf(text) }));
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ data }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const environment = {
      EMBEDDING_MODEL: "test-embedder",
      EMBEDDING_DIMENSIONS: "8",
      OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`,
      OPENAI_API_KEY: "none",
      RAG_QUERY_EMBEDDING_TIMEOUT_MS: "10000",
    };
    try {
      await using other = await startUnderTest(environment, rag.databaseUrl);
      await other.documents.uploadDocument(upload("cat.txt", "feline animals purr", "pets"), other.as("t1"));
      await other.documents.uploadDocument(upload("dog.txt", "canine animals bark", "pets"), other.as("t1"));
      const near = await other.retrieval.search({ query: "kitten", collection: "pets" }, other.as("t1"));
      expect(near.passages.map((p) => [p.documentName, p.vectorRank, p.lexicalRank])).toEqual([
        ["cat.txt", 1, 0],
        ["dog.txt", 2, 0],
      ]);
      await expect(other.retrieval.search({ query: "refund" }, other.as("t1"))).rejects.toMatchObject({
        code: "FAILED_PRECONDITION",
        reason: "EMBEDDER_MISMATCH",
        metadata: { stored: "hash-512", configured: "test-embedder-8" },
      });
      await expect(other.documents.uploadDocument(upload("x.md", "x"), other.as("t1"))).rejects.toMatchObject({
        reason: "EMBEDDER_MISMATCH",
      });
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      const words = await other.retrieval.search({ query: "animals that bark", collection: "pets" }, other.as("t1"));
      expect(words.vectorLegSkipped).toBe(true);
      expect(words.passages[0]).toMatchObject({ documentName: "dog.txt", lexicalRank: 1, vectorRank: 0 });
      await expect(
        other.documents.uploadDocument(upload("new.txt", "birds", "pets"), other.as("t1")),
      ).rejects.toMatchObject({ code: "UNAVAILABLE" });
    } finally {
      server.close();
    }
  });
});

/** A model that knows cats from dogs. */
function vectorOf(text: string): number[] {
  const vector = new Array<number>(8).fill(0);
  vector[/feline|kitten|purr/.test(text) ? 0 : 1] = 1;
  return vector;
}
