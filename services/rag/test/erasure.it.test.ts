import { afterAll, beforeAll, expect, test } from "vitest";
import { type RagUnderTest, startUnderTest } from "./harness.ts";

let rag: RagUnderTest;
beforeAll(async () => {
  rag = await startUnderTest();
});
afterAll(() => rag[Symbol.asyncDispose]());

async function* upload(name: string) {
  yield { part: { case: "header" as const, value: { name } } };
  yield { part: { case: "chunk" as const, value: new TextEncoder().encode(`# ${name}\n\nSome words.`) } };
}

const names = async (tenant: string) =>
  (await rag.documents.listDocuments({}, rag.as(tenant))).documents.map(({ name }) => name);

test("documents are the tenant's: they go with the whole of it, a part at a time, and with nothing less", async () => {
  for (let i = 0; i < 23; i++) await rag.documents.uploadDocument(upload(`${i}.md`), rag.as("whole"));
  await rag.documents.uploadDocument(upload("mine.md"), rag.as("neighbour"));
  const less = await rag.erasure.erase({ subject: "alice", taskIds: ["t"] }, rag.as("whole"));
  expect(less).toMatchObject({ removed: 0n, more: false });
  expect(await names("whole")).toHaveLength(23);
  const first = await rag.erasure.erase({ wholeTenant: true }, rag.as("whole"));
  expect(first).toMatchObject({ removed: 20n, more: true });
  const second = await rag.erasure.erase({ wholeTenant: true }, rag.as("whole"));
  expect(second).toMatchObject({ removed: 3n, more: false });
  expect(await names("whole")).toEqual([]);
  expect((await rag.retrieval.search({ query: "words" }, rag.as("whole"))).passages).toEqual([]);
  expect(await names("neighbour")).toEqual(["mine.md"]);
});
