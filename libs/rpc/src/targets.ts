import { isIP } from "node:net";
import { splitAddress } from "@drover/runtime";

/**
 * The grpc-js targets of a peer's addresses: a comma list of `host:port`, or `dns:///name:port`. All IPv4
 * addresses become one target, all IPv6 addresses another, and each name one of its own, whose
 * addresses DNS gives. Within a target calls go round over all addresses. Throws TypeError for an empty list.
 */
export function targetsOf(addresses: string): readonly string[] {
  const ip: Record<4 | 6, string[]> = { 4: [], 6: [] };
  const names: string[] = [];
  for (const address of addresses.split(",").map((part) => part.trim())) {
    if (address === "") continue;
    const family = address.includes("//") ? 0 : isIP(splitAddress(address).host);
    if (family === 4 || family === 6) ip[family].push(address);
    else names.push(address.includes("//") ? address : `dns:///${address}`);
  }
  const targets = [
    ...(ip[4].length > 0 ? [`ipv4:${ip[4].join(",")}`] : []),
    ...(ip[6].length > 0 ? [`ipv6:${ip[6].join(",")}`] : []),
    ...names,
  ];
  if (targets.length === 0) throw new TypeError("A peer needs at least one address.");
  return targets;
}
