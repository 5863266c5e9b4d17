import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Document, DocumentSchema, DocumentState, DocumentStateSchema } from "@drover/proto/rag/v1/document";
import {
  DocumentService,
  type UploadDocumentRequestSchema,
  type UploadDocumentResponse,
  UploadDocumentResponseSchema,
} from "@drover/proto/rag/v1/document_service";
import { type Passage, RetrievalService, SearchResponseSchema } from "@drover/proto/rag/v1/retrieval_service";
import { exitCodes } from "../exit-codes.ts";
import { jsonOf, printJson } from "../json-output.ts";
import { type LocalFile, readLocals } from "../local-files.ts";
import { bytesOf, plural } from "../render/figures.ts";
import { nameIn } from "../render/names.ts";
import { paletteOf } from "../render/palette.ts";
import { oneLine, padded, safeLines } from "../render/terminal-text.ts";
import type { Session } from "../session.ts";

/** Bytes of one chunk of an upload. */
const chunkBytes = 256 * 1024;

/** Uploads documents one after the other; 1 where one of them was refused or could not be indexed. */
export async function putDocuments(session: Session, paths: readonly string[], collection: string): Promise<number> {
  const { terminal, signal } = session;
  const documents = session.client(DocumentService);
  const answers: UploadDocumentResponse[] = [];
  for (const file of await readLocals(paths)) {
    const answer = await documents.uploadDocument(uploadOf(file, collection), { signal });
    answers.push(answer);
    if (!session.json) terminal.print(`${uploadLine(file, answer)}\n`);
  }
  if (session.json)
    printJson(terminal, { uploads: answers.map((answer) => jsonOf(UploadDocumentResponseSchema, answer)) });
  return answers.every(isTaken) ? exitCodes.ok : exitCodes.failed;
}

/** Lists documents by name, every page of them. */
export async function listDocuments(session: Session, collection: string): Promise<number> {
  const { terminal, signal } = session;
  const found: Document[] = [];
  let pageToken = "";
  do {
    const page = await session
      .client(DocumentService)
      .listDocuments({ collection, pageSize: 500, pageToken }, { signal });
    found.push(...page.documents);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  if (session.json) printJson(terminal, { documents: found.map((document) => jsonOf(DocumentSchema, document)) });
  else if (found.length === 0) terminal.print("No documents. Add one: drover doc put FILE\n");
  else for (const document of found) terminal.print(`${documentLine(document)}\n`);
  return exitCodes.ok;
}

/** Prints the best passages for a query. `limit` 0 means the service's default. */
export async function searchDocuments(
  session: Session,
  query: string,
  options: { readonly collection: string; readonly limit: number },
): Promise<number> {
  const { terminal, signal } = session;
  const answer = await session.client(RetrievalService).search({ query, ...options }, { signal });
  if (session.json) {
    printJson(terminal, jsonOf(SearchResponseSchema, answer));
    return exitCodes.ok;
  }
  if (answer.passages.length === 0) terminal.print("Nothing was found.\n");
  const { quiet } = paletteOf(terminal.color);
  answer.passages.forEach((passage, index) => {
    terminal.print(`${[...passageLines(passage, index + 1, quiet), ""].join("\n")}\n`);
  });
  if (answer.vectorLegSkipped) terminal.complain("Searched by words alone: no embedding endpoint answered.");
  return exitCodes.ok;
}

/** Deletes a document with its passages. */
export async function removeDocument(session: Session, documentId: string): Promise<number> {
  const { terminal, signal } = session;
  const { chunksDeleted } = await session.client(DocumentService).deleteDocument({ documentId }, { signal });
  if (session.json) printJson(terminal, { documentId, chunksDeleted });
  else terminal.print(`deleted ${oneLine(documentId)} and ${plural(chunksDeleted, "passage")}\n`);
  return exitCodes.ok;
}

async function* uploadOf(
  { name, content }: LocalFile,
  collection: string,
): AsyncGenerator<MessageInitShape<typeof UploadDocumentRequestSchema>> {
  yield { part: { case: "header", value: { collection, name } } };
  for (let start = 0; start < content.length; start += chunkBytes) {
    yield { part: { case: "chunk", value: content.subarray(start, start + chunkBytes) } };
  }
}

function isTaken({ result }: UploadDocumentResponse): boolean {
  return result.case === "document" && result.value.state !== DocumentState.FAILED;
}

function uploadLine(file: LocalFile, { result, unchanged }: UploadDocumentResponse): string {
  if (result.case === "refusal") {
    const { check, found, allowed } = result.value;
    return oneLine(`${file.path} was refused: ${check}: found ${found}, allowed ${allowed}`);
  }
  if (result.case === undefined) return oneLine(`${file.path}: the gateway answered without a result`);
  return `${documentLine(result.value)}${unchanged ? " · unchanged" : ""}`;
}

function documentLine(document: Document): string {
  const failed =
    document.state === DocumentState.FAILED ? [`${document.failureReason}: ${document.failureMessage}`] : [];
  const facts = [
    `${document.collection}/${document.name}`,
    bytesOf(document.sizeBytes),
    plural(document.chunkCount, "passage"),
    nameIn(DocumentStateSchema, document.state),
    ...failed,
  ];
  return `${padded(oneLine(document.id), 36)}  ${facts.map(oneLine).join(" · ")}`;
}

function passageLines(passage: Passage, place: number, quiet: (text: string) => string): readonly string[] {
  const where = [passage.documentName, ...passage.headingPath].map(oneLine).join(" › ");
  const rank = (name: string, value: number) => (value === 0 ? [] : [`${name} ${value}`]);
  const ranks = [...rank("words", passage.lexicalRank), ...rank("meaning", passage.vectorRank)].join(", ");
  return [
    `${String(place).padStart(2)}  ${where}  ${quiet(`${ranks} · ${passage.start}–${passage.end}`)}`,
    ...safeLines(passage.text.trimEnd()).map((line) => `    ${line}`.trimEnd()),
  ];
}
