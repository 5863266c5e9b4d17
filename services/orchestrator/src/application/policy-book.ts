import { decidingRule, inOrder, type JudgedCall, type Policy } from "../domain/policy.ts";
import type { LinearPatterns, PolicyStore } from "./decision-ports.ts";

/** Tenants whose rules are kept; more begin anew. */
const keptTenants = 1_000;

/** The rule that decides on a call; undefined where none fits and the call is allowed. */
export type Judge = (call: JudgedCall) => Policy | undefined;

/** A tenant's rules of one version. */
export interface Rules {
  readonly version: number;
  readonly judge: Judge;
}

/**
 * The rules of tenants. What was read is kept, and a commit that rests on it names its version: the record refuses it
 * where there is a newer one, so that a change binds the next turn on every replica at the price of no question.
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
    return (await this.#read(tenant)).judge;
  }

  /** The rules that were read last; those of now where none are known, or only those of the version `stale`. */
  async rulesOf(tenant: string, stale?: number): Promise<Rules> {
    const known = this.#known.get(tenant);
    if (known === undefined || known.version === stale) return await this.#read(tenant);
    return this.#rules(known);
  }

  /** One question for the version, and the rules with the answer where it is another than the one that is known. */
  async #read(tenant: string): Promise<Rules> {
    const known = this.#known.get(tenant);
    const { version, policies } = await this.#store.read(tenant, known?.version ?? -1);
    if (policies === undefined) return this.#rules({ version, ordered: known?.ordered ?? [] });
    if (this.#known.size >= keptTenants) this.#known.clear();
    const read = { version, ordered: inOrder(policies) };
    this.#known.set(tenant, read);
    return this.#rules(read);
  }

  #rules({ version, ordered }: { readonly version: number; readonly ordered: readonly Policy[] }): Rules {
    return { version, judge: (call) => decidingRule(ordered, call, this.#patterns.matches) };
  }
}
