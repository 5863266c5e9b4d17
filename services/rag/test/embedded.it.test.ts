import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { startEmbeddedPostgres } from "@drover/postgres";
import { expect, it } from "vitest";
import { startUnderTest, upload } from "./harness.ts";

it("works on the embedded database, with calls side by side", async () => {
  await using stack = new AsyncDisposableStack();
  const dataDir = await mkdtemp(path.join(tmpdir(), "drover-rag-"));
  stack.defer(() => rm(dataDir, { recursive: true, force: true }));
  const database = stack.use(await startEmbeddedPostgres({ dataDir }));
  const rag = stack.use(await startUnderTest({}, database.url));
  const texts = ["refunds need an approval", "soup is served at noon", "退款需要财务审批", "食堂中午供应汤"];
  const put = (text: string, n: number) => rag.documents.uploadDocument(upload(`${n}.txt`, text), rag.as("t1"));
  await Promise.all([...texts, ...texts].map((text, n) => put(text, n % texts.length)));
  const { documents } = await rag.documents.listDocuments({}, rag.as("t1"));
  expect(documents.map((d) => d.name)).toEqual(["0.txt", "1.txt", "2.txt", "3.txt"]);
  const search = (query: string, tenant = "t1") => rag.retrieval.search({ query }, rag.as(tenant));
  expect((await search("who approves refunds"))?.passages[0]?.text).toBe(texts[0]);
  expect((await search("退款审批"))?.passages[0]?.text).toBe(texts[2]);
  expect((await search("refunds", "t2")).passages).toEqual([]);
});
