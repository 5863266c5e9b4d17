import { isId, newId, notFound } from "@drover/kernel";
import { checkPurge, type Purge, type PurgeSubject } from "../domain/purge.ts";
import { requestIdTaken } from "../domain/submission.ts";
import { digest } from "./digest.ts";
import type { PurgeStore } from "./purge-ports.ts";
import type { Requester } from "./submit-task.ts";

/**
 * Records a removal and has it begun. The same request id with the same body answers with the same removal as it is
 * now. Throws INVALID_ARGUMENT with every fault, ALREADY_EXISTS for a request id that was used otherwise.
 */
export async function requestPurge(
  parts: { readonly purges: Pick<PurgeStore, "begin" | "get">; readonly wake: () => void },
  requester: Requester,
  request: { readonly requestId: string; readonly subject: PurgeSubject | undefined },
): Promise<Purge> {
  const { requestId, subject } = request;
  checkPurge(requestId, subject);
  const { tenant, subject: requestedBy } = requester;
  const bodyHash = digest(JSON.stringify([requestedBy, subject.kind, subject.subject]));
  const begun = await parts.purges.begin({ tenant, id: newId(), requestId, bodyHash, requestedBy, ...subject });
  if (begun.outcome === "conflict") throw requestIdTaken(requestId);
  if (begun.outcome === "created") parts.wake();
  return await getPurge(parts.purges, tenant, begun.id);
}

/** A removal as it is now. NOT_FOUND also for one of another tenant. */
export async function getPurge(purges: Pick<PurgeStore, "get">, tenant: string, purgeId: string): Promise<Purge> {
  const purge = isId(purgeId) ? await purges.get(tenant, purgeId) : undefined;
  if (purge === undefined) throw notFound("purge", purgeId);
  return purge;
}
