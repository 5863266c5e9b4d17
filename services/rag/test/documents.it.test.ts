import { DocumentState } from "@drover/proto/rag/v1/document";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RagUnderTest, startUnderTest, upload } from "./harness.ts";

let rag: RagUnderTest;
beforeAll(async () => {
  rag = await startUnderTest();
});
afterAll(() => rag[Symbol.asyncDispose]());

async function put(tenant: string, name: string, content: string | Uint8Array, collection = "") {
  const { result, unchanged } = await rag.documents.uploadDocument(upload(name, content, collection), rag.as(tenant));
  return { document: result.case === "document" ? result.value : undefined, refusal: refusalOf(result), unchanged };
}

function refusalOf(result: Awaited<ReturnType<RagUnderTest["documents"]["uploadDocument"]>>["result"]) {
  return result.case === "refusal" ? result.value : undefined;
}

const find = async (tenant: string, query: string, collection = "") =>
  (await rag.retrieval.search({ query, collection }, rag.as(tenant))).passages;

describe("UploadDocument", () => {
  it("indexes a document, and changes nothing for the same content again", async () => {
    const first = await put("t1", "runbook.md", "# Payments\n\nA gateway time-out leaves orders pending.");
    expect(first.document).toMatchObject({
      collection: "default",
      mediaType: "text/markdown",
      state: DocumentState.READY,
      chunkCount: 1,
    });
    const again = await put("t1", "runbook.md", "# Payments\n\nA gateway time-out leaves orders pending.");
    expect(again).toMatchObject({ unchanged: true, document: { id: first.document?.id } });
  });

  it("replaces the document of a name as a whole and keeps its id", async () => {
    const old = await put("t2", "a.txt", "zebra stripes everywhere");
    const next = await put("t2", "a.txt", "giraffe necks everywhere");
    expect(next).toMatchObject({ unchanged: false, document: { id: old.document?.id } });
    const lexical = (await find("t2", "zebra")).filter((passage) => passage.lexicalRank > 0);
    expect(lexical).toEqual([]);
    expect((await find("t2", "giraffe"))[0]?.text).toBe("giraffe necks everywhere");
  });

  it("leaves one document of a name when several are uploaded at once", async () => {
    const contents = Array.from({ length: 8 }, (_, n) => `version ${n} `.repeat(500));
    const ids = await Promise.all(contents.map(async (content) => (await put("t3", "same.txt", content)).document?.id));
    const { documents } = await rag.documents.listDocuments({}, rag.as("t3"));
    expect(documents).toHaveLength(1);
    expect(new Set(ids)).toEqual(new Set([documents[0]?.id]));
    const passages = await rag.retrieval.search({ query: "version", limit: 50 }, rag.as("t3"));
    expect(passages.passages).toHaveLength(documents[0]?.chunkCount ?? 0);
    expect(new Set(passages.passages.map((passage) => passage.text.slice(0, 9))).size).toBe(1);
  });

  it.each([
    ["../a.md", "x", "name"],
    ["a.docx", "PK", "extension"],
    ["a.md", "", "empty"],
    ["a.md", " \n ", "empty"],
    ["a.txt", new Uint8Array([0x63, 0xe9, 0x20]), "encoding"],
    ["a.txt", "\u001b\u0007".repeat(50), "content"],
  ])("answers with a refusal for %j with %j", async (name, content, check) => {
    expect((await put("t4", name, content)).refusal).toMatchObject({ check });
    expect((await rag.documents.listDocuments({}, rag.as("t4"))).documents).toEqual([]);
  });

  it("stops reading at 50 MB, and is answered while the caller still sends", async () => {
    let sent = 0;
    async function* endless() {
      yield { part: { case: "header" as const, value: { name: "big.txt" } } };
      for (; sent < 200; sent++) {
        yield { part: { case: "chunk" as const, value: new Uint8Array(1024 ** 2).fill(97) } };
      }
    }
    const { result } = await rag.documents.uploadDocument(endless(), rag.as("t4"));
    expect(refusalOf(result)).toMatchObject({ check: "size", allowed: "at most 52428800 bytes" });
    expect(sent).toBeLessThan(150);
  });

  it("refuses a stream without a header and a collection out of shape", async () => {
    async function* headless() {
      yield { part: { case: "chunk" as const, value: new Uint8Array([97]) } };
    }
    await expect(rag.documents.uploadDocument(headless(), rag.as("t4"))).rejects.toMatchObject({
      violations: [expect.objectContaining({ field: "header" })],
    });
    await expect(put("t4", "a.md", "x", "No Such")).rejects.toMatchObject({
      violations: [expect.objectContaining({ field: "header.collection" })],
    });
  });

  it("reads UTF-16, keeps NUL out of the database, and stores passages as exact slices", async () => {
    const text = `Ключ 键 😀\n\nзаказ\u0000 order\n\n${"слово word ".repeat(20)}`;
    const units = new Uint8Array(2 + 2 * text.length);
    new DataView(units.buffer).setUint16(0, 0xfffe);
    for (let i = 0; i < text.length; i++) new DataView(units.buffer).setUint16(2 + 2 * i, text.charCodeAt(i), true);
    const { document } = await put("t5", "utf16.txt", units);
    const [passage] = await find("t5", "заказ");
    expect(passage?.documentId).toBe(document?.id);
    const whole = text.replaceAll("\u0000", "");
    expect(passage?.text).toBe(whole.slice(Number(passage?.start), Number(passage?.end)));
  });
});

describe("ListDocuments, GetDocument, DeleteDocument", () => {
  it("lists by name in pages, over all collections or one", async () => {
    for (const name of ["b.md", "a.md", "c.md"]) await put("t6", name, `text of ${name}`, "one");
    await put("t6", "d.md", "text", "two");
    const first = await rag.documents.listDocuments({ pageSize: 2 }, rag.as("t6"));
    const second = await rag.documents.listDocuments({ pageSize: 2, pageToken: first.nextPageToken }, rag.as("t6"));
    expect([...first.documents, ...second.documents].map((d) => d.name)).toEqual(["a.md", "b.md", "c.md", "d.md"]);
    expect(second.nextPageToken).toBe("");
    const one = await rag.documents.listDocuments({ collection: "two" }, rag.as("t6"));
    expect(one.documents.map((d) => d.name)).toEqual(["d.md"]);
    await expect(
      rag.documents.listDocuments({ collection: "two", pageToken: first.nextPageToken }, rag.as("t6")),
    ).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  it("deletes at once and completely, and again without an error", async () => {
    const { document } = await put("t7", "gone.md", "# Gone\n\nthe unicorn clause");
    const documentId = document?.id ?? "";
    expect(await find("t7", "unicorn")).toHaveLength(1);
    expect(await rag.documents.deleteDocument({ documentId }, rag.as("t7"))).toMatchObject({ chunksDeleted: 1 });
    expect(await find("t7", "unicorn")).toEqual([]);
    expect(await rag.documents.deleteDocument({ documentId }, rag.as("t7"))).toMatchObject({ chunksDeleted: 0 });
    await expect(rag.documents.getDocument({ documentId }, rag.as("t7"))).rejects.toMatchObject({ code: "NOT_FOUND" });
    const again = await put("t7", "gone.md", "# Gone\n\nthe unicorn clause");
    expect(again.unchanged).toBe(false);
    expect(await find("t7", "unicorn")).toHaveLength(1);
  });

  it("answers NOT_FOUND across tenants, and for what is no id", async () => {
    const { document } = await put("t8", "secret.md", "the tangerine plan");
    const documentId = document?.id ?? "";
    for (const tenant of ["t9", "t10"]) {
      await expect(rag.documents.getDocument({ documentId }, rag.as(tenant))).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
      await expect(rag.documents.deleteDocument({ documentId }, rag.as(tenant))).rejects.toMatchObject({
        code: "NOT_FOUND",
      });
      await put(tenant, "own.md", "something else entirely");
      expect((await find(tenant, "tangerine plan")).map((p) => p.documentName)).toEqual(["own.md"]);
    }
    await expect(rag.documents.getDocument({ documentId: "x' OR 1=1" }, rag.as("t8"))).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
    expect((await rag.documents.getDocument({ documentId }, rag.as("t8"))).document?.name).toBe("secret.md");
  });
});
