import { decodePageToken, encodePageToken, invalidField, isId, notFound, pageSize } from "@drover/kernel";
import type { Execution } from "../domain/execution.ts";
import type { ExecutionStore } from "./ports.ts";

/** Reads what was recorded about runs. */
export class Executions {
  readonly #store: ExecutionStore;

  constructor(store: ExecutionStore) {
    this.#store = store;
  }

  /** NOT_FOUND also for another tenant's execution. */
  async get(tenant: string, key: { readonly id: string } | { readonly callId: string }): Promise<Execution> {
    const [field, id] = "id" in key ? ["id", key.id] : ["call_id", key.callId];
    if (!isId(id)) throw invalidField(field, JSON.stringify(id.slice(0, 40)), "a lower-case UUID");
    const found = await this.#store.find(tenant, key);
    if (found === undefined) throw notFound("execution", id);
    return found;
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
