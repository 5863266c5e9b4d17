import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Bus, patterns, subjects } from "@drover/bus";
import { RevisionCommittedSchema } from "@drover/proto/event/v1/bus";
import type { RevisionHints } from "../application/ports.ts";

/** Hints over the bus. What is no hint is ignored: the next poll finds what it would have told. */
export function createRevisionHints(bus: Bus): RevisionHints {
  return {
    publish({ tenant, traceId, revision }) {
      const message = create(RevisionCommittedSchema, { traceId, revision: BigInt(revision) });
      bus.publish(subjects.revision(tenant, traceId), toBinary(RevisionCommittedSchema, message));
    },
    subscribe({ tenant, traceId }, listener) {
      const subscription = bus.subscribe(patterns.revision(tenant, traceId), ({ data }) => {
        const revision = revisionIn(data);
        if (revision !== undefined) listener(revision);
      });
      return subscription;
    },
  };
}

function revisionIn(data: Uint8Array): number | undefined {
  try {
    return Number(fromBinary(RevisionCommittedSchema, data).revision);
  } catch {
    return undefined;
  }
}
