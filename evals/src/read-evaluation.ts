import { readFileSync } from "node:fs";
import { type DescMessage, fromJson, type JsonValue, type MessageShape } from "@bufbuild/protobuf";
import { AgentSchema, PolicySchema } from "@drover/proto/orchestrator/v1/agent_service";
import { SubmitTaskRequestSchema } from "@drover/proto/orchestrator/v1/task_service";
import { Ajv2020, type ErrorObject } from "ajv/dist/2020.js";
import { type Document, LineCounter, parseDocument } from "yaml";
import type { Evaluation } from "./evaluation.ts";

const schema: object = JSON.parse(readFileSync(new URL("../schema.json", import.meta.url), "utf8"));
const valid = new Ajv2020({ allErrors: true, strict: true }).compile<Raw>(schema);

/** The file as it is written, before its messages are read. */
interface Raw extends Omit<Evaluation, "agent" | "policies" | "task" | "files" | "documents" | "decisions"> {
  readonly files?: Readonly<Record<string, string>>;
  readonly documents?: Readonly<Record<string, string>>;
  readonly decisions?: readonly ("approve" | "deny")[];
  readonly agent?: JsonValue;
  readonly policies?: readonly JsonValue[];
  readonly task: JsonValue;
}

/**
 * Reads the text of an evaluation. Throws one error that lists every fault as `file:line: what`; `models` are the
 * policies that there are.
 */
export function readEvaluation(file: string, text: string, models: readonly string[]): Evaluation {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true });
  const lineOf = (path: readonly (string | number)[]) => lines.linePos(offsetOf(document, path)).line;
  const faults = document.errors.map((error) => `${lines.linePos(error.pos[0]).line}: ${error.message.split("\n")[0]}`);
  if (faults.length > 0) throw refused(file, faults);
  const raw: unknown = document.toJS();
  if (!valid(raw))
    throw refused(
      file,
      (valid.errors ?? []).map((error) => `${lineOf(pathOf(error))}: ${words(error)}`),
    );
  if (!models.includes(raw.model)) {
    throw refused(file, [`${lineOf(["model"])}: found ${raw.model}, allowed ${models.join(", ")}`]);
  }
  const message = <D extends DescMessage>(desc: D, json: JsonValue, path: readonly (string | number)[]) => {
    try {
      return fromJson(desc, json);
    } catch (error) {
      throw refused(file, [
        `${lineOf(path)}: ${path.join(".")}: ${error instanceof Error ? error.message : "unreadable"}`,
      ]);
    }
  };
  return {
    ...raw,
    files: raw.files ?? {},
    documents: raw.documents ?? {},
    decisions: raw.decisions ?? [],
    agent:
      raw.agent === undefined
        ? undefined
        : (message(AgentSchema, raw.agent, ["agent"]) as MessageShape<typeof AgentSchema>),
    policies: (raw.policies ?? []).map((policy, index) => message(PolicySchema, policy, ["policies", index])),
    task: message(SubmitTaskRequestSchema, raw.task, ["task"]),
  };
}

/** Where the value at a path begins; of what is not there, where the nearest thing around it begins. */
function offsetOf(document: Document, path: readonly (string | number)[]): number {
  for (let length = path.length; length > 0; length--) {
    const node: unknown = document.getIn(path.slice(0, length), true);
    if (typeof node === "object" && node !== null && "range" in node && Array.isArray(node.range)) return node.range[0];
  }
  return 0;
}

function pathOf({ instancePath, keyword, params }: ErrorObject): (string | number)[] {
  const parts = instancePath
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  return keyword === "additionalProperties" ? [...parts, String(params.additionalProperty)] : parts;
}

function words(error: ErrorObject): string {
  const where = error.instancePath === "" ? "the evaluation" : error.instancePath.slice(1).replaceAll("/", ".");
  const which = error.keyword === "additionalProperties" ? ` (${error.params.additionalProperty})` : "";
  const allowed = error.keyword === "enum" ? ` (${error.params.allowedValues.join(", ")})` : "";
  return `${where} ${error.message ?? "is wrong"}${which}${allowed}`;
}

function refused(file: string, faults: readonly string[]): Error {
  return new Error(faults.map((fault) => `${file}:${fault}`).join("\n"));
}
