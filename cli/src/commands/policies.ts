import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import {
  AgentService,
  CheckPolicyResponseSchema,
  type Policy,
  PolicyEffectSchema,
  PolicySchema,
} from "@drover/proto/orchestrator/v1/agent_service";
import { exitCodes } from "../exit-codes.ts";
import { usageFailure } from "../failure.ts";
import { jsonOf, printJson } from "../json-output.ts";
import { readSource } from "../local-files.ts";
import { plural } from "../render/figures.ts";
import { nameIn } from "../render/names.ts";
import { oneLine, padded } from "../render/terminal-text.ts";
import type { Session } from "../session.ts";

/** Writes the rules of a file: one as proto3 JSON, or a list of them. */
export async function putPolicies(session: Session, path: string): Promise<number> {
  const written: Policy[] = [];
  for (const policy of await readPolicies(session, path)) {
    const answer = await session.client(AgentService).putPolicy({ policy }, { signal: session.signal });
    if (answer.policy !== undefined) written.push(answer.policy);
  }
  return show(session, written);
}

/** Lists the tenant's rules in the order in which they are asked. */
export async function listPolicies(session: Session): Promise<number> {
  const policies: Policy[] = [];
  let pageToken = "";
  do {
    const request = { pageSize: 500, pageToken };
    const page = await session.client(AgentService).listPolicies(request, { signal: session.signal });
    policies.push(...page.policies);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  if (policies.length === 0 && !session.json) session.terminal.print("No policies: every call is allowed.\n");
  return show(session, policies);
}

/** Removes a rule; one that is not there too. */
export async function deletePolicy(session: Session, name: string): Promise<number> {
  await session.client(AgentService).deletePolicy({ name }, { signal: session.signal });
  if (session.json) printJson(session.terminal, { name });
  else session.terminal.print(`policy ${oneLine(name)} is deleted\n`);
  return exitCodes.ok;
}

/** Says what would become of a call, and by which rule. */
export async function checkPolicy(session: Session, tool: string, args: string, agent: string): Promise<number> {
  const request = { agent, tool, arguments: args };
  const answer = await session.client(AgentService).checkPolicy(request, { signal: session.signal });
  if (session.json) printJson(session.terminal, jsonOf(CheckPolicyResponseSchema, answer));
  else {
    const why = answer.rule === "" ? "no policy fits" : `policy ${answer.rule}`;
    const facts = [nameIn(PolicyEffectSchema, answer.effect), why, answer.reason].filter((fact) => fact !== "");
    session.terminal.print(`${facts.map(oneLine).join(" · ")}\n`);
  }
  return exitCodes.ok;
}

async function readPolicies(session: Session, path: string): Promise<readonly Policy[]> {
  const text = new TextDecoder().decode(await readSource(path, session.terminal));
  try {
    const found: JsonValue = JSON.parse(text);
    return (Array.isArray(found) ? found : [found]).map((policy) => fromJson(PolicySchema, policy));
  } catch (error) {
    const why = error instanceof Error ? error.message : "it cannot be read";
    const advice = 'Write a policy as JSON, e.g. {"name": "ask-first", "tool": "bash", "effect": "POLICY_EFFECT_ASK"}.';
    throw usageFailure(`${path} holds no policy: ${oneLine(why)}`, advice);
  }
}

function show({ json, terminal }: Session, policies: readonly Policy[]): number {
  if (json) printJson(terminal, { policies: policies.map((policy) => jsonOf(PolicySchema, policy)) });
  else for (const policy of policies) terminal.print(`${lineOf(policy)}\n`);
  return exitCodes.ok;
}

function lineOf({ priority, name, effect, agent, tool, conditions, reason }: Policy): string {
  const facts = [
    `${nameIn(PolicyEffectSchema, effect)} ${tool}`,
    ...(agent === "" ? [] : [`agent ${agent}`]),
    ...(conditions.length === 0 ? [] : [plural(conditions.length, "condition")]),
    reason,
  ];
  const line = facts.filter((fact) => fact !== "").map(oneLine);
  return `${String(priority).padStart(4)}  ${padded(oneLine(name), 24)}  ${line.join(" · ")}`;
}
