import type { AgentBudgets } from "./agent.ts";
import type { TaskBudgets } from "./task.ts";

/** Budgets of a task: of each, what the caller asked for, else the agent's, else the service's. */
export function budgetsOf(asked: AgentBudgets, agent: AgentBudgets, defaults: TaskBudgets): TaskBudgets {
  return {
    wallMs: asked.wallMs || agent.wallMs || defaults.wallMs,
    tokens: asked.tokens || agent.tokens || defaults.tokens,
    costNanoUsd: asked.costNanoUsd || agent.costNanoUsd || defaults.costNanoUsd,
    toolCalls: asked.toolCalls || agent.toolCalls || defaults.toolCalls,
    outputTokens: asked.outputTokens || agent.outputTokens || defaults.outputTokens,
  };
}
