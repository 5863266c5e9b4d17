import { notFound } from "@drover/kernel";
import { type AgentSnapshot, checkAgentName, defaultAgent } from "../domain/agent.ts";
import type { AgentStore } from "./ports.ts";

/**
 * The agent that a submission names, to be kept by its task as it is now; the service's own where the name is empty.
 * Throws INVALID_ARGUMENT for what is no name, NOT_FOUND for one that the tenant does not have.
 */
export async function resolveAgent(
  store: Pick<AgentStore, "get">,
  tenant: string,
  name: string,
): Promise<AgentSnapshot> {
  if (name === "") return defaultAgent;
  checkAgentName(name, "agent");
  const agent = await store.get(tenant, name);
  if (agent === undefined) throw notFound("agent", name);
  return agent.body;
}
