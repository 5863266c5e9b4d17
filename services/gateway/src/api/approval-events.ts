import { toJson } from "@bufbuild/protobuf";
import { createClient, type Transport } from "@connectrpc/connect";
import {
  ApprovalSchema,
  ApprovalService,
  ApprovalState,
  type WatchApprovalsResponse,
} from "@drover/proto/orchestrator/v1/approval_service";
import { sseFrame } from "../domain/sse-frame.ts";
import type { HttpRequest, HttpResponse } from "./json-answer.ts";
import { type EventStreamParts, serveEvents } from "./serve-events.ts";

/** Where the stream of a tenant's approvals is. */
export const approvalEventsPath = "/v1/approvals/events";

/**
 * `GET /v1/approvals/events`: WatchApprovals as server-sent events, for everybody of the tenant who may read approvals.
 * `approval.required` where somebody is asked, `approval.decided` for every end of one; the id is the change's number
 * within the tenant. It does not end by itself.
 */
export function createApprovalEvents(
  parts: EventStreamParts & { readonly orchestrator: Transport },
): (request: HttpRequest, response: HttpResponse) => Promise<void> {
  const client = createClient(ApprovalService, parts.orchestrator);
  return (request, response) =>
    serveEvents(parts, request, response, {
      method: "/drover.orchestrator.v1.ApprovalService/WatchApprovals",
      watch: (afterSequence, options) => client.watchApprovals({ afterSequence }, options),
      framesOf,
    });
}

function framesOf({ approval, sequence }: WatchApprovalsResponse): string | undefined {
  if (approval === undefined) return undefined;
  const event = approval.state === ApprovalState.PENDING ? "approval.required" : "approval.decided";
  const data = JSON.stringify(toJson(ApprovalSchema, approval, { alwaysEmitImplicit: true }));
  return sseFrame({ id: String(sequence), event, data });
}
