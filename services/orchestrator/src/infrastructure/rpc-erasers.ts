import { createClient } from "@connectrpc/connect";
import { ErasureService } from "@drover/proto/common/v1/erasure_service";
import { actingAs } from "@drover/rpc";
import type { Erasers } from "../application/purge-ports.ts";
import type { ErasingService } from "../domain/purge.ts";
import type { Peers } from "./peers.ts";

/**
 * ErasureService of the other services, asked in the name of who wants the removal. Conversations have one owner each:
 * those of a user are found by the user, as nobody else's conversation may go where a task only names it.
 */
export function createRpcErasers(peers: Pick<Peers, ErasingService>, timeoutMs: number): Erasers {
  return {
    async erase(service, claim, { taskIds, workspaceIds, traceIds }, signal) {
      const request = {
        ...{ taskIds: [...taskIds], workspaceIds: [...workspaceIds], traceIds: [...traceIds] },
        conversationIds: claim.kind === "conversation" ? [claim.subject] : [],
        wholeTenant: claim.kind === "tenant",
        subject: claim.kind === "user" ? claim.subject : "",
      };
      const caller = { tenant: claim.tenant, subject: claim.requestedBy, scopes: ["privacy:write"] };
      const client = createClient(ErasureService, peers[service]);
      const options = { signal, timeoutMs, contextValues: actingAs(caller) };
      const { removed, more } = await client.erase(request, options);
      return { removed: Number(removed), more };
    },
  };
}
