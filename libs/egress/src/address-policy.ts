import { DroverError, invalidField } from "@drover/kernel";
import ipaddr from "ipaddr.js";

/** Where outbound requests may go. */
export interface AddressRules {
  /** Host names that may be called, exact or `*.example.com`; absent means every public host. */
  readonly allowHosts?: readonly string[];
  /** Addresses, CIDR blocks or host names that may be called although they are private. */
  readonly allowPrivate?: readonly string[];
}

/** The rules, parsed. */
export interface AddressPolicy {
  /**
   * Checks what the URL itself says: scheme, credentials, host name, and the address when it is written
   * as one in any notation. Throws INVALID_ARGUMENT or PERMISSION_DENIED.
   */
  checkUrl(url: URL): void;
  /** Checks an address that `host` resolved to. Throws PERMISSION_DENIED. */
  checkAddress(host: string, address: string): void;
}

type Block = ReturnType<typeof ipaddr.parseCIDR>;

/** Parses the rules. Throws INVALID_ARGUMENT for an entry that is neither host, address nor CIDR block. */
export function addressPolicy(rules: AddressRules): AddressPolicy {
  const allowHosts = rules.allowHosts?.map((entry) => hostName("allow_hosts", entry));
  const privateHosts = new Set<string>();
  const privateBlocks: Block[] = [];
  for (const entry of rules.allowPrivate ?? []) {
    const block = blockOf(entry);
    if (block === undefined) privateHosts.add(hostName("allow_private", entry));
    else privateBlocks.push(block);
  }
  const checkAddress = (host: string, address: string) => {
    const parsed = ipaddr.process(address);
    const isAllowed =
      isPublic(parsed) || privateHosts.has(host) || privateBlocks.some((block) => matches(parsed, block));
    if (!isAllowed)
      throw refusal(host, "it is a private, local or reserved address, which outbound requests may not reach");
  };
  return {
    checkAddress,
    checkUrl(url) {
      if (url.protocol !== "https:" && url.protocol !== "http:") {
        throw invalidField("url", `the scheme ${url.protocol.slice(0, 20)}`, "http: or https:");
      }
      if (url.username !== "" || url.password !== "") {
        throw invalidField("url", "a user name or password in it", "a URL without credentials");
      }
      const host = hostOf(url);
      if (allowHosts !== undefined && !allowHosts.some((pattern) => isHostMatch(host, pattern))) {
        throw refusal(host, "it is not on the list of allowed hosts");
      }
      if (ipaddr.isValid(host)) checkAddress(host, host);
    },
  };
}

/** The host of a URL without the brackets of IPv6 and without a trailing dot. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
}

/**
 * True for addresses of the public internet only: IPv4 outside every special block of the IANA registry
 * (RFC 6890), IPv6 within 2000::/3 and outside tunnels and translations, which could lead back inside.
 */
function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== "unicast") return false;
  return address.kind() === "ipv4" || ((address.toByteArray()[0] ?? 0) & 0xe0) === 0x20;
}

function matches(address: ipaddr.IPv4 | ipaddr.IPv6, block: Block): boolean {
  return address.kind() === block[0].kind() && address.match(block);
}

function blockOf(entry: string): Block | undefined {
  if (ipaddr.isValidCIDR(entry)) return ipaddr.parseCIDR(entry);
  if (!ipaddr.isValid(entry) || /^\d+$/.test(entry)) return undefined;
  const address = ipaddr.process(entry);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}

function hostName(field: string, entry: string): string {
  const name = entry.toLowerCase().replace(/\.$/, "");
  if (!/^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(name) && !ipaddr.isValid(name)) {
    throw invalidField(field, JSON.stringify(entry.slice(0, 64)), "host names, addresses or CIDR blocks");
  }
  return name;
}

function isHostMatch(host: string, pattern: string): boolean {
  return pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) : host === pattern;
}

function refusal(host: string, why: string): DroverError {
  return new DroverError("PERMISSION_DENIED", `The host ${host.slice(0, 100)} may not be called: ${why}.`, {
    reason: "EGRESS_REFUSED",
    metadata: { host: host.slice(0, 100) },
  });
}
