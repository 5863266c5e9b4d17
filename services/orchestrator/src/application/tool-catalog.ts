import { type TenantToolParts, TenantTools } from "./tenant-tools.ts";
import type { ToolCatalog } from "./tool-ports.ts";
import type { ToolServerSignals } from "./tool-source-ports.ts";

/** How the catalogue keeps up. */
export interface ToolCatalogOptions extends TenantToolParts {
  readonly signals: Pick<ToolServerSignals, "onChanged">;
  /** How often the rows of tenants in use are looked at, in case a signal was lost, ms. */
  readonly pollMs: number;
  /** A tenant whose tools nobody used for so long is forgotten, ms. */
  readonly idleMs: number;
}

/** The tools of all tenants. */
export interface RunningToolCatalog extends ToolCatalog, AsyncDisposable {
  /** The tenant's connections in this process as they are now. */
  status(tenant: string): Promise<ReturnType<TenantTools["status"]>>;
}

/**
 * Local tools and those of the tenants' servers. A tenant's servers are opened when its first round asks for them, follow
 * their rows by signal and by polling, and are closed when nobody used them for long. Disposing closes everything.
 */
export function startToolCatalog(options: ToolCatalogOptions): RunningToolCatalog {
  const { clock, onFault } = options;
  const tenants = new Map<string, { readonly tools: TenantTools; usedAt: number }>();
  const stopping = new AbortController();
  const use = (tenant: string): TenantTools => {
    const known = tenants.get(tenant) ?? { tools: new TenantTools(options, tenant), usedAt: 0 };
    known.usedAt = clock.monotonicMs();
    tenants.set(tenant, known);
    return known.tools;
  };
  const refresh = (tools: TenantTools) =>
    tools.refresh().catch((fault: unknown) => onFault(fault, "tool servers were not read"));
  const signals = options.signals.onChanged((tenant) => {
    const known = tenants.get(tenant);
    if (known !== undefined) void refresh(known.tools);
  });
  const look = async () => {
    const now = clock.monotonicMs();
    for (const [tenant, { tools, usedAt }] of tenants) {
      if (now - usedAt < options.idleMs || tools.busy) continue;
      tenants.delete(tenant);
      await tools.close();
    }
    await Promise.all([...tenants.values()].map(({ tools }) => refresh(tools)));
  };
  const poll = async () => {
    while (!stopping.signal.aborted) {
      await clock.sleep(options.pollMs, stopping.signal).catch(() => undefined);
      if (!stopping.signal.aborted) await look();
    }
  };
  const polling = poll();
  return {
    lease: (tenant) => use(tenant).lease(),
    async status(tenant) {
      const tools = use(tenant);
      await tools.refresh();
      return tools.status();
    },
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await signals[Symbol.asyncDispose]();
      await Promise.all([polling, ...[...tenants.values()].map(({ tools }) => tools.close())]);
    },
  };
}
