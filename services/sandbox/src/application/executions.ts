import { decodePageToken, encodePageToken, invalidField, isId, notFound, pageSize } from "@drover/kernel";
import type { Execution } from "../domain/execution.ts";
import type { LiveRuns } from "./live-runs.ts";
import type { ExecutionStore } from "./ports.ts";

/** Reads what is known about runs. */
export class Executions {
  readonly #store: ExecutionStore;
  readonly #live: Pick<LiveRuns, "byId">;

  constructor(store: ExecutionStore, live: Pick<LiveRuns, "byId">) {
    this.#store = store;
    this.#live = live;
  }

  /** NOT_FOUND also for another tenant's execution. One that runs here runs, also where its record does not say so yet. */
  async get(tenant: string, key: { readonly id: string } | { readonly callId: string }): Promise<Execution> {
    const [field, id] = "id" in key ? ["id", key.id] : ["call_id", key.callId];
    if (!isId(id)) throw invalidField(field, JSON.stringify(id.slice(0, 40)), "a lower-case UUID");
    const found = await this.#store.find(tenant, key);
    if (found === undefined) throw notFound("execution", id);
    const startedAt = found.startedAt ?? this.#live.byId(tenant, found.id)?.startedAt;
    return { ...found, ...(startedAt && { startedAt }) };
  }

  /** Newest first. */
  async list(
    tenant: string,
    request: { readonly taskId: string; readonly pageSize: number; readonly pageToken: string },
  ): Promise<{ readonly executions: readonly Execution[]; readonly nextPageToken: string }> {
    const limit = pageSize(request.pageSize);
    const scope = `executions:${request.taskId}`;
    const after = decodePageToken(scope, request.pageToken)?.[0];
    const found = await this.#store.list(tenant, { taskId: request.taskId, after, limit: limit + 1 });
    const executions = found.slice(0, limit);
    const last = executions.at(-1);
    const more = found.length > limit && last !== undefined;
    return { executions, nextPageToken: more ? encodePageToken(scope, [last.id]) : "" };
  }
}
