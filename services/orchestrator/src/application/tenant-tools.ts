import { sha256 } from "@drover/kernel";
import type { OfferedTool } from "../domain/foreign-tools.ts";
import { contentOf, type ToolServer } from "../domain/tool-server.ts";
import type { Middleware } from "./middleware-ports.ts";
import { Plug, type PlugParts } from "./plug.ts";
import type { Tool, ToolBox, ToolLease } from "./tool-ports.ts";
import type { ToolServerStore } from "./tool-source-ports.ts";

/** What the tools of a tenant need. */
export interface TenantToolParts extends PlugParts {
  readonly store: Pick<ToolServerStore, "read">;
  readonly local: ToolBox;
  readonly boxOf: (tools: readonly Tool[]) => ToolBox;
  /** How old a server's list of tools may become, ms. */
  readonly listTtlMs: number;
  /** Hears of tools that are not offered because another one has their name. */
  readonly onCollision: (collision: {
    readonly tenant: string;
    readonly server: string;
    readonly tool: string;
  }) => void;
}

/** How a connection is, for people. */
export interface PlugStatus {
  readonly name: string;
  readonly state: "ready" | "failing" | "draining";
  readonly generation: number;
  readonly tools: readonly string[];
  readonly leftOut: readonly string[];
  readonly lastError: string;
  readonly references: number;
}

/** One immutable version of what a tenant's servers offer. */
interface Offer {
  readonly digest: string;
  readonly foreign: ToolBox;
  readonly digests: ReadonlyMap<string, string>;
  readonly hooks: readonly Middleware[];
  readonly plugs: readonly Plug[];
}

/** The servers of one tenant, kept as its rows say. */
export class TenantTools {
  readonly #parts: TenantToolParts;
  readonly #tenant: string;
  #known = -1;
  /** By name: those that the rows ask for. */
  #plugs: ReadonlyMap<string, Plug> = new Map();
  readonly #draining = new Set<Plug>();
  readonly #generations = new Map<string, number>();
  #offer: Offer;
  #refreshing: Promise<void> | undefined;
  #again: Promise<void> | undefined;
  #read: Promise<void> | undefined;

  constructor(parts: TenantToolParts, tenant: string) {
    this.#parts = parts;
    this.#tenant = tenant;
    this.#offer = this.#offerOf(digestOf([], []), [], []);
  }

  /** Takes hold of the version of now. The first time the rows are read and the servers asked. */
  async lease(): Promise<ToolLease> {
    this.#read ??= this.refresh().catch((fault: unknown) => {
      this.#read = undefined;
      throw fault;
    });
    await this.#read;
    const { foreign, digests, hooks, plugs } = this.#offer;
    for (const plug of plugs) plug.hold();
    let held = true;
    return {
      ...{ local: this.#parts.local, foreign, digests, hooks },
      [Symbol.dispose]() {
        if (held) for (const plug of plugs) plug.release();
        held = false;
      },
    };
  }

  /** True while a round of a task holds anything of it. */
  get busy(): boolean {
    return [...this.#plugs.values(), ...this.#draining].some(({ references }) => references > 0);
  }

  /**
   * Brings the connections to what the rows say now: one at a time, and what is asked for in the midst of one is done once
   * more after it. UNAVAILABLE where the rows cannot be read; what there is stays.
   */
  refresh(): Promise<void> {
    if (this.#refreshing === undefined) {
      this.#refreshing = this.#refresh().finally(() => {
        this.#refreshing = undefined;
      });
      return this.#refreshing;
    }
    this.#again ??= this.#refreshing
      .catch(() => undefined)
      .then(() => {
        this.#again = undefined;
        return this.refresh();
      });
    return this.#again;
  }

  /** The connections, those that drain last, and the digest of what is offered. */
  status(): { readonly digest: string; readonly plugs: readonly PlugStatus[] } {
    return { digest: this.#offer.digest, plugs: [...this.#plugs.values(), ...this.#draining].map(statusOf) };
  }

  /** Ends all connections and cancels what runs on them. */
  async close(): Promise<void> {
    await this.#refreshing?.catch(() => undefined);
    await Promise.all([...this.#plugs.values(), ...this.#draining].map((plug) => plug.close()));
  }

  async #refresh(): Promise<void> {
    const { version, servers } = await this.#parts.store.read(this.#tenant, this.#known);
    const before = this.#plugs;
    if (servers !== undefined) {
      this.#plugs = this.#plugsOf(servers);
      this.#known = version;
      // What was removed is offered no more from here on; what was replaced is until its successor was asked.
      this.#publish([...before.values()].filter(({ server }) => this.#plugs.has(server.name)));
    }
    const { listTtlMs } = this.#parts;
    await Promise.all([...this.#plugs.values()].map((plug) => plug.refresh(listTtlMs)));
    this.#publish([...this.#plugs.values()]);
    this.#read ??= Promise.resolve();
    for (const plug of before.values()) {
      if (this.#plugs.get(plug.server.name) === plug) continue;
      this.#draining.add(plug);
      plug.drain(() => this.#draining.delete(plug));
    }
  }

  #plugsOf(servers: readonly ToolServer[]): ReadonlyMap<string, Plug> {
    const plugs = new Map<string, Plug>();
    for (const server of [...servers].sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (!server.enabled) continue;
      const known = this.#plugs.get(server.name);
      plugs.set(server.name, known?.content === contentOf(server) ? known : this.#open(server));
    }
    return plugs;
  }

  #open(server: ToolServer): Plug {
    const generation = (this.#generations.get(server.name) ?? 0) + 1;
    this.#generations.set(server.name, generation);
    return new Plug(this.#parts, { tenant: this.#tenant, server, generation }, () => {
      this.refresh().catch((fault: unknown) => this.#parts.onFault(fault, "changed tools were not listed"));
    });
  }

  /** Makes another version the current one, unless it would be the same. */
  #publish(plugs: readonly Plug[]): void {
    const { tools, collisions } = this.#named(plugs);
    const digest = digestOf(plugs, tools);
    if (digest === this.#offer.digest) return;
    for (const collision of collisions) this.#parts.onCollision({ tenant: this.#tenant, ...collision });
    this.#offer = this.#offerOf(digest, plugs, tools);
  }

  /** Each name once: a local tool has it first, then the server whose name comes first. */
  #named(plugs: readonly Plug[]) {
    const taken = new Set(this.#parts.local.specs.map(({ name }) => name));
    const tools: NamedTool[] = [];
    const collisions: { readonly server: string; readonly tool: string }[] = [];
    for (const plug of plugs) {
      for (const offered of plug.tools) {
        const { name } = offered.spec;
        if (taken.has(name)) collisions.push({ server: plug.server.name, tool: name });
        else tools.push({ plug, offered });
        taken.add(name);
      }
    }
    return { tools, collisions };
  }

  #offerOf(digest: string, plugs: readonly Plug[], named: readonly NamedTool[]): Offer {
    return {
      ...{ digest, plugs },
      foreign: this.#parts.boxOf(named.map(({ plug, offered }) => plug.toolOf(offered))),
      digests: new Map(named.map(({ offered }) => [offered.spec.name, offered.digest])),
      hooks: plugs.flatMap(({ hook }) => (hook === undefined ? [] : [hook])),
    };
  }
}

interface NamedTool {
  readonly plug: Plug;
  readonly offered: OfferedTool;
}

function digestOf(plugs: readonly Plug[], tools: readonly NamedTool[]): string {
  const made = plugs.map(({ server, generation }) => `${server.name}/${generation}`);
  return sha256(JSON.stringify([made, tools.map(({ offered }) => [offered.spec.name, offered.digest])]));
}

function statusOf(plug: Plug): PlugStatus {
  const { server, generation, tools, leftOut, lastError, references, draining } = plug;
  const state = draining ? "draining" : lastError === "" ? "ready" : "failing";
  const names = tools.map(({ spec }) => spec.name);
  return { name: server.name, state, generation, tools: names, leftOut, lastError, references };
}
