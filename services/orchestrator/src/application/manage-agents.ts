import { DroverError, decodePageToken, encodePageToken, notFound, pageSize } from "@drover/kernel";
import { type Agent, type AgentCatalog, type AgentSnapshot, checkAgent, checkAgentName } from "../domain/agent.ts";
import type { AgentStore } from "./ports.ts";

const listScope = "agents";

/** Creates or replaces an agent. Throws INVALID_ARGUMENT with every fault, ABORTED where it has another version. */
export async function putAgent(
  parts: { readonly store: AgentStore; readonly catalog: AgentCatalog },
  requester: { readonly tenant: string; readonly subject: string },
  request: { readonly name: string; readonly body: AgentSnapshot; readonly expectedVersion: number },
): Promise<Agent> {
  const { name, body, expectedVersion } = request;
  checkAgent(name, body, parts.catalog);
  const agent = await parts.store.put(requester.tenant, { name, body, expectedVersion, updatedBy: requester.subject });
  if (agent !== undefined) return agent;
  throw new DroverError("ABORTED", `The agent does not have version ${expectedVersion}; read it again.`, {
    reason: "VERSION_MISMATCH",
  });
}

/** An agent as it is now; NOT_FOUND also for one of another tenant. */
export async function getAgent(store: AgentStore, tenant: string, name: string): Promise<Agent> {
  checkAgentName(name, "name");
  const agent = await store.get(tenant, name);
  if (agent === undefined) throw notFound("agent", name);
  return agent;
}

/** One page of the tenant's agents, by name. INVALID_ARGUMENT for a bad page. */
export async function listAgents(
  store: AgentStore,
  tenant: string,
  request: { readonly pageSize: number; readonly pageToken: string },
): Promise<{ readonly agents: readonly Agent[]; readonly nextPageToken: string }> {
  const size = pageSize(request.pageSize);
  const [after = ""] = decodePageToken(listScope, request.pageToken) ?? [];
  const found = await store.list(tenant, size + 1, after);
  const agents = found.slice(0, size);
  const last = agents.at(-1);
  const more = found.length > size && last !== undefined;
  return { agents, nextPageToken: more ? encodePageToken(listScope, [last.name]) : "" };
}

/** Removes an agent; tasks that were submitted with it keep it. Again is no error. */
export async function deleteAgent(store: AgentStore, tenant: string, name: string): Promise<void> {
  checkAgentName(name, "name");
  await store.delete(tenant, name);
}
