export type { AddressRules } from "./address-policy.ts";
export { type CheckedResolver, createCheckedResolver } from "./checked-resolver.ts";
export { createEgress, type Egress, type EgressLimits, type EgressOptions } from "./egress.ts";
export type { ResolvedAddress, Resolver } from "./pinned-lookup.ts";
