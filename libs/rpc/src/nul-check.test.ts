import { create, type DescField, type DescMessage, getOption, ScalarType } from "@bufbuild/protobuf";
import { any_text as anyText } from "@drover/proto/common/v1/options";
import { AccountService } from "@drover/proto/gateway/v1/account_service";
import { ConversationService } from "@drover/proto/memory/v1/conversation_service";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { DocumentService } from "@drover/proto/rag/v1/document_service";
import { RetrievalService } from "@drover/proto/rag/v1/retrieval_service";
import { ExecService, RunRequestSchema } from "@drover/proto/sandbox/v1/exec_service";
import { WorkspaceService } from "@drover/proto/sandbox/v1/workspace_service";
import { TraceService } from "@drover/proto/trace/v1/trace_service";
import { expect, test } from "vitest";
import { nulIn } from "./nul-check.ts";

const services = [
  AccountService,
  ConversationService,
  DocumentService,
  ExecService,
  RetrievalService,
  TaskService,
  TraceService,
  WorkspaceService,
];

/** A request with a NUL in one place, the path of that place, and whether any text is allowed there. */
interface Sample {
  readonly path: string;
  readonly init: unknown;
  readonly free: boolean;
}

/** One for every string that a message can hold. */
function samplesOf(schema: DescMessage): Sample[] {
  return schema.fields.flatMap((field) => {
    const free = getOption(field, anyText);
    return placesOf(field).map(({ path, init, free: inner }) => {
      const value = field.oneof === undefined ? { [field.localName]: init } : oneofInit(field, init);
      return { path: `${field.name}${path}`, init: value, free: free || inner };
    });
  });
}

function oneofInit({ oneof, localName }: DescField, value: unknown): unknown {
  return { [oneof?.localName ?? ""]: { case: localName, value } };
}

function placesOf(field: DescField): Sample[] {
  const text = { path: "", init: "a\0", free: false };
  switch (field.fieldKind) {
    case "scalar":
      return field.scalar === ScalarType.STRING ? [text] : [];
    case "message":
      return samplesOf(field.message).map((sample) => ({ ...sample, path: `.${sample.path}` }));
    case "list": {
      if (field.listKind === "scalar")
        return field.scalar === ScalarType.STRING ? [{ ...text, path: "[0]", init: ["\0"] }] : [];
      if (field.listKind === "enum") return [];
      return samplesOf(field.message).map(({ path, init, free }) => ({ path: `[0].${path}`, init: [init], free }));
    }
    case "map":
      return [
        { ...text, init: { "k\0": "v" } },
        { ...text, path: "[k]", init: { k: "\0" } },
      ];
    default:
      return [];
  }
}

test("a NUL is refused by its field in every text of every request, but for what takes any text", () => {
  const free = new Set<string>();
  for (const { input } of services.flatMap(({ methods }) => methods)) {
    for (const sample of samplesOf(input)) {
      const place = `${input.name}.${sample.path}`;
      const error = nulIn(input, create(input, sample.init as Record<string, unknown>));
      if (error === undefined) free.add(place);
      else expect([place, error.violations[0]?.field]).toEqual([place, sample.path]);
      expect([place, error === undefined]).toEqual([place, sample.free]);
    }
  }
  const message = ["text", "tool_calls[0].name", "tool_calls[0].arguments_json", "tool_calls[0].provider_call_id"];
  expect([...free].sort()).toEqual(
    [
      "SubmitTaskRequest.prompt",
      "UploadDocumentRequest.header.name",
      ...message.map((path) => `AppendMessagesRequest.messages[0].${path}`),
      ...message.map((path) => `BuildContextRequest.append[0].${path}`),
    ].sort(),
  );
});

test("what holds no NUL in its texts passes, whatever its bytes hold", () => {
  const request = create(RunRequestSchema, {
    code: "\u2400",
    files: [{ path: "a", content: Uint8Array.of(0) }],
    stdin: Uint8Array.of(0),
    environment: { A: "" },
  });
  expect(nulIn(RunRequestSchema, request)).toBeUndefined();
});
