import { lookup } from "node:dns/promises";
import type { ClientHttp2Session } from "node:http2";
import { isIP } from "node:net";
import { DroverError } from "@drover/kernel";
import { joinAddress, splitAddress } from "@drover/runtime";
import { UpstreamEndpoint } from "./upstream-endpoint.ts";

/** HTTP/2 connections to all addresses of one service. */
export interface Upstream extends AsyncDisposable {
  /**
   * A connection that takes streams: the next of those that are open, at once, or the first that opens.
   * UNAVAILABLE, naming the service, where none can be opened.
   */
  session(): ClientHttp2Session | Promise<ClientHttp2Session>;
}

/** Which service, and where it is. */
export interface UpstreamOptions {
  readonly service: string;
  readonly addresses: readonly string[];
  /** Hears of each attempt to connect that failed; callers are told the service's name only. */
  readonly onFailure: (address: string, error: unknown) => void;
}

/** How often names are looked up again, in milliseconds. */
const resolveEveryMs = 10_000;

/**
 * Connects to `addresses` (`host:port`, or `dns:///name:port` for all addresses of a name) when they are first
 * needed and again when they are lost. Streams go round over the addresses that are connected.
 */
export function createUpstream(options: UpstreamOptions): Upstream {
  return new RoundRobin(options);
}

class RoundRobin implements Upstream {
  readonly #service: string;
  readonly #addresses: readonly string[];
  readonly #onFailure: UpstreamOptions["onFailure"];
  readonly #byName: boolean;
  readonly #endpoints = new Map<string, UpstreamEndpoint>();
  #order: readonly UpstreamEndpoint[] = [];
  #next = 0;
  #resolveAtMs = 0;
  #resolving: Promise<void> | undefined;

  constructor({ service, addresses, onFailure }: UpstreamOptions) {
    this.#service = service;
    this.#onFailure = onFailure;
    this.#addresses = addresses.map((address) => address.replace(/^dns:\/*/, ""));
    this.#byName = this.#addresses.some((address) => isIP(splitAddress(address).host) === 0);
    if (!this.#byName) this.#use(this.#addresses);
  }

  session(): ClientHttp2Session | Promise<ClientHttp2Session> {
    if (this.#byName && performance.now() >= this.#resolveAtMs) void this.#resolve();
    return this.#open() ?? this.#opened();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const endpoint of this.#endpoints.values()) endpoint.close();
  }

  /** The next open connection; endpoints that are not connected are asked to be, without waiting. */
  #open(): ClientHttp2Session | undefined {
    const order = this.#order;
    for (let tried = 0; tried < order.length; tried++) {
      this.#next = (this.#next + 1) % order.length;
      const endpoint = order[this.#next];
      const session = endpoint?.current();
      if (session !== undefined) return session;
      endpoint?.connect().catch(() => {});
    }
    return undefined;
  }

  async #opened(): Promise<ClientHttp2Session> {
    try {
      if (this.#order.length === 0) await this.#resolve();
      return await Promise.any(this.#order.map((endpoint) => endpoint.connect()));
    } catch (error) {
      if (this.#byName) this.#resolveAtMs = 0;
      const cause = error instanceof AggregateError ? error.errors[0] : error;
      throw new DroverError("UNAVAILABLE", `The service ${this.#service} cannot be reached; try again.`, {
        reason: "UPSTREAM_UNREACHABLE",
        metadata: { service: this.#service },
        cause,
      });
    }
  }

  #resolve(): Promise<void> {
    this.#resolveAtMs = performance.now() + resolveEveryMs;
    this.#resolving ??= Promise.all(this.#addresses.map(addressesOf))
      .then((found) => {
        // A name server that is away for a moment must not close what works.
        const all = found.flat();
        if (all.length > 0) this.#use(all);
      })
      .finally(() => {
        this.#resolving = undefined;
      });
    return this.#resolving;
  }

  #use(addresses: readonly string[]): void {
    const wanted = new Set(addresses);
    for (const [address, endpoint] of this.#endpoints) {
      if (wanted.has(address)) continue;
      endpoint.close();
      this.#endpoints.delete(address);
    }
    for (const address of wanted) {
      if (!this.#endpoints.has(address)) this.#endpoints.set(address, new UpstreamEndpoint(address, this.#onFailure));
    }
    this.#order = [...this.#endpoints.values()];
  }
}

async function addressesOf(address: string): Promise<string[]> {
  const { host, port } = splitAddress(address);
  if (isIP(host) !== 0) return [address];
  try {
    return (await lookup(host, { all: true })).map((found) => joinAddress(found.address, port));
  } catch {
    return [];
  }
}
