import { decodePageToken, encodePageToken, invalidField, isId, pageSize } from "@drover/kernel";
import type { ApprovalState } from "../domain/approval.ts";
import type { Approval, ApprovalStore } from "./decision-ports.ts";

/** Which approvals; empty and 0 mean all. */
export interface ApprovalQuery {
  readonly states: readonly ApprovalState[];
  readonly taskId: string;
  readonly tool: string;
  readonly minAgeMs: number;
  readonly pageSize: number;
  readonly pageToken: string;
}

/** One page of the tenant's approvals, newest first. INVALID_ARGUMENT names the field. */
export async function listApprovals(
  approvals: ApprovalStore,
  tenant: string,
  query: ApprovalQuery,
): Promise<{ readonly approvals: readonly Approval[]; readonly nextPageToken: string }> {
  const { taskId, tool, minAgeMs } = query;
  const states = [...new Set(query.states)].sort();
  if (taskId !== "" && !isId(taskId)) {
    throw invalidField("task_id", JSON.stringify(taskId.slice(0, 64)), "empty, or the id of a task");
  }
  if (!Number.isSafeInteger(minAgeMs) || minAgeMs < 0 || minAgeMs > 1e12) {
    throw invalidField("min_age_ms", String(minAgeMs), "0 or more milliseconds");
  }
  if (tool.length > 64) throw invalidField("tool", `${tool.length} characters`, "the name of a tool");
  const size = pageSize(query.pageSize);
  const scope = `approvals:${JSON.stringify([states, taskId, tool, minAgeMs])}`;
  const [before] = decodePageToken(scope, query.pageToken) ?? [];
  if (before !== undefined && !isId(before)) {
    throw invalidField("page_token", "a token that was not made here", "the next_page_token of the same list");
  }
  const found = await approvals.list(tenant, { states, taskId, tool, minAgeMs }, size + 1, before);
  const page = found.slice(0, size);
  const last = page.at(-1);
  const more = found.length > size && last !== undefined;
  return { approvals: page, nextPageToken: more ? encodePageToken(scope, [last.id]) : "" };
}
