import { isId, notFound } from "@drover/kernel";
import type { Call } from "./call.ts";
import type { FactStore } from "./fact-ports.ts";

/** Forgets a fact of the caller's own; see the rpc DeleteFact for the contract. How many versions went. */
export type ForgetFact = (call: Call, factId: string) => Promise<number>;

/** Makes {@link ForgetFact}. */
export function createForgetFact(store: FactStore): ForgetFact {
  return async ({ owner, signal }, factId) => {
    const removed = isId(factId) ? await store.forget(owner, factId, signal) : 0;
    if (removed === 0) throw notFound("fact", factId);
    return removed;
  };
}
