import { lookup as dnsLookup } from "node:dns/promises";
import type { LookupFunction } from "node:net";
import { DroverError } from "@drover/kernel";
import type { AddressPolicy } from "./address-policy.ts";

/** One address that a name resolved to. */
export interface ResolvedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** Resolves a host name; rejects when it does not exist. */
export type Resolver = (host: string) => Promise<readonly ResolvedAddress[]>;

/** The resolver of the operating system. */
export const systemResolver: Resolver = async (host) => {
  const found = await dnsLookup(host, { all: true });
  return found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 }));
};

/**
 * The lookup that sockets are opened with: it resolves once, checks every address of the answer and
 * hands the socket exactly those, so that a name cannot point somewhere else between check and use.
 * One refused address refuses the whole answer.
 */
export function pinnedLookup(policy: AddressPolicy, resolve: Resolver): LookupFunction {
  return (hostname, options, callback) => {
    checkedAddresses(policy, resolve, hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (options.all) callback(null, [...addresses]);
        else callback(null, first?.address ?? "", first?.family ?? 4);
      },
      (error: Error) => callback(error, "", 4),
    );
  };
}

/**
 * The addresses of a host name, each of them checked. UNAVAILABLE where there are none, PERMISSION_DENIED where one is
 * refused.
 */
export async function checkedAddresses(policy: AddressPolicy, resolve: Resolver, hostname: string) {
  const host = hostname.toLowerCase().replace(/\.$/, "");
  const addresses = await resolve(host).catch((cause: unknown) => {
    throw new DroverError("UNAVAILABLE", `The host name ${host.slice(0, 100)} cannot be resolved.`, {
      reason: "EGRESS_UNRESOLVED",
      cause,
    });
  });
  if (addresses.length === 0) throw new DroverError("UNAVAILABLE", `The host name ${host} has no address.`);
  for (const { address } of addresses) policy.checkAddress(host, address);
  return addresses;
}
