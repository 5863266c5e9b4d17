import { decodePageToken, encodePageToken, invalidField, pageSize } from "@drover/kernel";
import { redact } from "@drover/redaction";
import type { CallRecord, StepRecord, TransitionRecord } from "../domain/task-records.ts";
import type { TaskStore } from "./ports.ts";
import { getTask } from "./read-tasks.ts";
import type { RecordPage, TaskRecords } from "./record-ports.ts";

/** Which records of which task. */
export interface RecordQuery {
  readonly taskId: string;
  readonly pageSize: number;
  readonly pageToken: string;
}

/** One page of records; the token is empty on the last one. */
export interface Records<R> {
  readonly records: readonly R[];
  readonly nextPageToken: string;
}

/** What reading records needs. */
export interface RecordParts {
  readonly store: TaskStore;
  readonly records: TaskRecords;
}

/** The transitions of a task, oldest first. NOT_FOUND also for one of another tenant; INVALID_ARGUMENT for a bad page. */
export function listTransitions(
  parts: RecordParts,
  tenant: string,
  query: RecordQuery,
): Promise<Records<TransitionRecord>> {
  return list(parts, tenant, query, {
    kind: "transitions",
    read: (page, [version = 0]) => parts.records.transitions(page, version),
    place: ({ version }) => [version],
  });
}

/** The steps of a task, oldest first, with secrets masked. Errors as for {@link listTransitions}. */
export async function listSteps(parts: RecordParts, tenant: string, query: RecordQuery): Promise<Records<StepRecord>> {
  const page = await list<StepRecord>(parts, tenant, query, {
    kind: "steps",
    read: (request, [seq = 0]) => parts.records.steps(request, seq),
    place: ({ seq }) => [seq],
  });
  return { ...page, records: page.records.map((step) => ({ ...step, text: redact(step.text).text })) };
}

/** The tool calls of a task in call order. Errors as for {@link listTransitions}. */
export function listToolCalls(parts: RecordParts, tenant: string, query: RecordQuery): Promise<Records<CallRecord>> {
  return list(parts, tenant, query, {
    kind: "calls",
    read: (page, [stepSeq = 0, ordinal = -1]) => parts.records.calls(page, { stepSeq, ordinal }),
    place: ({ stepSeq, ordinal }) => [stepSeq, ordinal],
  });
}

async function list<R>(
  parts: RecordParts,
  tenant: string,
  query: RecordQuery,
  log: {
    readonly kind: string;
    readonly read: (page: RecordPage, after: readonly number[]) => Promise<R[]>;
    readonly place: (record: R) => readonly number[];
  },
): Promise<Records<R>> {
  const { id: taskId } = await getTask(parts.store, tenant, query.taskId);
  const size = pageSize(query.pageSize);
  const scope = `${log.kind}:${taskId}`;
  const after = (decodePageToken(scope, query.pageToken) ?? []).map(Number);
  if (!after.every(Number.isSafeInteger)) {
    throw invalidField("page_token", "a token that was not made here", "the next_page_token of the same list");
  }
  const found = await log.read({ tenant, taskId, limit: size + 1 }, after);
  const records = found.slice(0, size);
  const last = records.at(-1);
  const more = found.length > size && last !== undefined;
  return { records, nextPageToken: more ? encodePageToken(scope, log.place(last).map(String)) : "" };
}
