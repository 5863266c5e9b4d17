import { setTimeout as sleep } from "node:timers/promises";
import type { ServiceImpl } from "@connectrpc/connect";
import { type ApprovalService, ApprovalState } from "@drover/proto/orchestrator/v1/approval_service";
import { callerOf } from "@drover/rpc";
import type { Seen } from "./fake-tasks.ts";

/** An orchestrator's approvals: one is asked for and approved, the next asked for and withdrawn; then it is quiet. */
export function fakeApprovals(seen: Seen): Partial<ServiceImpl<typeof ApprovalService>> {
  const { PENDING, APPROVED, WITHDRAWN } = ApprovalState;
  const log = [PENDING, APPROVED, PENDING, WITHDRAWN].map((state, index) => ({
    approval: { id: `a${index >> 1}`, tool: "bash", state, decidedBy: state === PENDING ? "" : "bob" },
    sequence: BigInt(index + 1),
  }));
  return {
    async *watchApprovals({ afterSequence }, context) {
      seen.caller = callerOf(context);
      context.signal.addEventListener("abort", () => seen.aborted.push("approvals"), { once: true });
      yield { sequence: afterSequence };
      yield* log.filter(({ sequence }) => sequence > afterSequence);
      while (!context.signal.aborted) {
        await sleep(20);
        yield { sequence: 4n };
      }
    },
  };
}
