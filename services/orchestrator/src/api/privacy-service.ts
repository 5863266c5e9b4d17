import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { PrivacyService, PurgeReceiptSchema, PurgeRequest } from "@drover/proto/orchestrator/v1/privacy_service";
import { callerOf } from "@drover/rpc";
import type { PurgeStore } from "../application/purge-ports.ts";
import { getPurge, requestPurge } from "../application/request-purge.ts";
import type { Purge, PurgeSubject } from "../domain/purge.ts";

/** The rpcs of PrivacyService over the use cases. */
export function createPrivacyService(parts: {
  readonly purges: Pick<PurgeStore, "begin" | "get">;
  readonly wake: () => void;
}): ServiceImpl<typeof PrivacyService> {
  return {
    async purge({ requestId, subject }, context) {
      const request = { requestId, subject: subjectOf(subject) };
      return { receipt: receiptMessage(await requestPurge(parts, callerOf(context), request)) };
    },
    async getPurge({ purgeId }, context) {
      return { receipt: receiptMessage(await getPurge(parts.purges, callerOf(context).tenant, purgeId)) };
    },
  };
}

/** Undefined where the request names nobody. */
function subjectOf(subject: PurgeRequest["subject"]): PurgeSubject | undefined {
  switch (subject.case) {
    case "conversationId":
      return { kind: "conversation", subject: subject.value };
    case "user":
      return { kind: "user", subject: subject.value };
    case "wholeTenant":
      return subject.value ? { kind: "tenant", subject: "" } : undefined;
    default:
      return undefined;
  }
}

function receiptMessage(purge: Purge): MessageInitShape<typeof PurgeReceiptSchema> {
  const { id, requestedBy, requestedAt, completedAt, parts } = purge;
  return {
    ...{ id, requestedBy, requestedAt: timestampFromDate(requestedAt) },
    ...(completedAt === undefined ? {} : { completedAt: timestampFromDate(completedAt) }),
    parts: parts.map(({ removed, ...part }) => ({ ...part, removed: BigInt(removed) })),
  };
}
