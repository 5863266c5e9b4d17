import type { Server } from "node:net";

/** The parts of `host:port`; the brackets of an IPv6 host are taken off. */
export function splitAddress(address: string): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(":");
  return { host: address.slice(0, colon).replace(/^\[(.*)\]$/, "$1"), port: Number(address.slice(colon + 1)) };
}

/** `host:port` for a host, with brackets where it is IPv6. */
export function joinAddress(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The address at which a listening server is reached, with the port that was really bound. */
export function addressOf(server: Server, host: string): string {
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new TypeError("The server does not listen on TCP.");
  return joinAddress(host, bound.port);
}
