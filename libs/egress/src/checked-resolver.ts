import { isIPv6 } from "node:net";
import { invalidField } from "@drover/kernel";
import { type AddressRules, addressPolicy } from "./address-policy.ts";
import { checkedAddresses, type ResolvedAddress, type Resolver, systemResolver } from "./pinned-lookup.ts";

/** Resolves a host to the addresses that may be called. PERMISSION_DENIED for a refused one, UNAVAILABLE where there is none. */
export type CheckedResolver = (host: string) => Promise<readonly ResolvedAddress[]>;

/**
 * The rules of outbound calls for protocols other than HTTP: whoever connects to what this gives, and to nothing else,
 * keeps them. Throws INVALID_ARGUMENT for rules that cannot be parsed.
 */
export function createCheckedResolver(rules: AddressRules, resolve: Resolver = systemResolver): CheckedResolver {
  const policy = addressPolicy(rules);
  return async (host) => {
    const url = URL.parse(`http://${isIPv6(host) ? `[${host}]` : host}/`);
    if (url === null) throw invalidField("host", "something else", "a host name or an address");
    policy.checkUrl(url);
    return await checkedAddresses(policy, resolve, host);
  };
}
