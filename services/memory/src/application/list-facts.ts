import { decodePageToken, encodePageToken, isId, pageSize } from "@drover/kernel";
import type { Fact, FactScope } from "../domain/fact.ts";
import type { Call } from "./call.ts";
import type { FactStore } from "./fact-ports.ts";

/** Which facts, and which page of them. */
interface FactsWanted {
  readonly scope: FactScope | undefined;
  readonly agent: string;
  readonly includeEnded: boolean;
  readonly pageSize: number;
  readonly pageToken: string;
}

/** What is known to the caller, newest first; see the rpc of the same name for the contract. */
export type ListFacts = (
  call: Call,
  wanted: FactsWanted,
) => Promise<{ readonly facts: readonly Fact[]; readonly nextPageToken: string }>;

/** Makes {@link ListFacts}. */
export function createListFacts(store: FactStore): ListFacts {
  return async ({ owner, signal }, wanted) => {
    const size = pageSize(wanted.pageSize);
    const { scope, agent, includeEnded } = wanted;
    const list = `facts:${scope ?? ""}:${agent}:${includeEnded}`;
    const [after] = decodePageToken(list, wanted.pageToken) ?? [];
    const position = after !== undefined && isId(after) ? after : undefined;
    const page = { after: position, limit: size + 1 };
    const found = await store.list(owner, { scope, agent, includeEnded }, page, signal);
    const facts = found.slice(0, size);
    const last = facts.at(-1);
    const more = found.length > size && last !== undefined;
    return { facts, nextPageToken: more ? encodePageToken(list, [last.id]) : "" };
  };
}
