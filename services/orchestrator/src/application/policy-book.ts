import { decidingRule, inOrder, type JudgedCall, type Policy } from "../domain/policy.ts";
import type { LinearPatterns, PolicyStore } from "./decision-ports.ts";

/** Tenants whose rules are kept; more begin anew. */
const keptTenants = 1_000;

/** The rule that decides on a call; undefined where none fits and the call is allowed. */
export type Judge = (call: JudgedCall) => Policy | undefined;

/**
 * The rules of tenants as they are now. Every look asks the record for their version, in one round trip, and reads them
 * only where they were changed: a change binds the next turn on every replica.
 */
export class PolicyBook {
  readonly #store: PolicyStore;
  readonly #patterns: LinearPatterns;
  readonly #known = new Map<string, { readonly version: number; readonly ordered: readonly Policy[] }>();

  constructor(store: PolicyStore, patterns: LinearPatterns) {
    this.#store = store;
    this.#patterns = patterns;
  }

  /** A judge by the rules of now. UNAVAILABLE when the database is away. */
  async judgeOf(tenant: string): Promise<Judge> {
    const known = this.#known.get(tenant);
    const { version, policies } = await this.#store.read(tenant, known?.version ?? -1);
    const ordered = policies === undefined ? (known?.ordered ?? []) : inOrder(policies);
    if (policies !== undefined) {
      if (this.#known.size >= keptTenants) this.#known.clear();
      this.#known.set(tenant, { version, ordered });
    }
    return (call) => decidingRule(ordered, call, this.#patterns.matches);
  }
}
