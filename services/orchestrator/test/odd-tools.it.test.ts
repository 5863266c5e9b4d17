import { PolicyEffect } from "@drover/proto/orchestrator/v1/agent_service";
import { callsScript } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Tool } from "../src/application/tool-ports.ts";
import { decide, pending, rule } from "./approving.ts";
import { ended, eventsOf, type Harness, startHarness, stateName, submit } from "./harness.ts";
import { oddTools, tool, well, withTools } from "./odd-tools.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness?.[Symbol.asyncDispose]());

const quick = { DROVER_LEASE_TTL_MS: "1500", DROVER_CLAIM_POLL_MS: "100", DROVER_TOOL_PATIENCE_MS: "0" };
const call = (name: string) => ({ name, arguments: {} });

test("whatever a tool does becomes a result, and the loop goes on", async () => {
  await using replica = await harness.orchestrator(quick, withTools(oddTools));
  harness.model.use(callsScript(oddTools.map(({ spec }) => call(spec.name))));
  const task = await submit(replica, "odd", "Misbehave");
  const done = await ended(replica, "odd", task.id);
  expect(stateName(done.state)).toBe("SUCCEEDED");
  expect(done.answer.split(/\n(?=\d\. )/).map((text) => text.slice(0, 60))).toEqual([
    expect.stringMatching(/^1\. ERROR INTERNAL: The tool failed/),
    expect.stringMatching(/^2\. ERROR INTERNAL: The tool failed/),
    expect.stringMatching(/^3\. ERROR TIMEOUT: /),
    expect.stringMatching(/^4\. OK: a lot\n0123456789/),
    expect.stringMatching(/^5\. OK: bin/),
    expect.stringMatching(/^6\. ERROR TOOL_MISBEHAVED: The tool nothing/),
    expect.stringMatching(/^7\. ERROR TOOL_MISBEHAVED: The tool half/),
    expect.stringMatching(/^8\. OK: fine/),
  ]);
  const events = await eventsOf(replica, "odd", task.id);
  const results = events.flatMap(({ event }) => (event.case === "toolCallCompleted" ? [event.value] : []));
  expect(results).toHaveLength(8);
  const kept = Number(results[3]?.resultCharacters);
  expect([kept > 16_000_000, kept < 16_001_000, Number(results[3]?.shownCharacters)]).toEqual([true, true, 2_048]);
});

async function lostOnce(tenant: string, fields: Partial<Tool>) {
  const ids: string[] = [];
  const charge = tool("charge", {
    ...fields,
    execute: async (_args, { callId }) => {
      ids.push(callId);
      return well(`charged ${ids.length}`);
    },
  });
  await using replica = await harness.orchestrator(quick, withTools([charge], true));
  if (tenant.startsWith("asks")) {
    const effect = tenant === "asks" ? PolicyEffect.ASK : PolicyEffect.ALLOW;
    await rule(replica, tenant, { tool: "charge", effect, askIfUnknown: true });
  }
  harness.model.use(callsScript([call("charge")]));
  const task = await submit(replica, tenant, "Charge");
  if (tenant === "asks") await decide(replica, tenant, (await pending(replica, tenant, task.id))[0]);
  if (tenant.startsWith("asks")) {
    const [again] = await pending(replica, tenant, task.id);
    expect([again.rule, again.reason, ids.length]).toEqual(["", "OUTCOME_UNKNOWN", 1]);
    await decide(replica, tenant, again, { deny: tenant === "asks-no", comment: "" });
  }
  const done = await ended(replica, tenant, task.id);
  const { toolCalls } = await replica.client.listToolCalls({ taskId: task.id }, replica.as(tenant));
  expect(new Set(ids).size).toBe(1);
  return [ids.length, stateName(done.state), toolCalls[0]?.errorCode, done.answer];
}

test("a call that was sent and has no result goes by the replay rule of its tool", async () => {
  expect(await lostOnce("safe", { replay: "safe" })).toEqual([
    2,
    "SUCCEEDED",
    "",
    expect.stringContaining("charged 2"),
  ]);
  expect((await lostOnce("idempotent", { replay: "idempotent" })).slice(0, 2)).toEqual([2, "SUCCEEDED"]);
  const unknown = [1, "SUCCEEDED", "OUTCOME_UNKNOWN", expect.stringContaining("ERROR OUTCOME_UNKNOWN")];
  expect(await lostOnce("never", { replay: "never" })).toEqual(unknown);
  expect(await lostOnce("probe-none", { replay: "probe" })).toEqual(unknown);
  expect(await lostOnce("probe-unsure", { replay: "probe", probe: async () => "unknown" })).toEqual(unknown);
  const broken = { replay: "probe", probe: () => Promise.reject(new Error("away")) } as const;
  expect(await lostOnce("probe-broken", broken)).toEqual(unknown);
  const absent = { replay: "probe", probe: async () => "not_run" as const } as const;
  expect((await lostOnce("probe-not", absent)).slice(0, 2)).toEqual([2, "SUCCEEDED"]);
  const known = { replay: "probe", probe: async () => well("it had worked") } as const;
  expect(await lostOnce("probe-known", known)).toEqual([1, "SUCCEEDED", "", "1. OK: it had worked"]);
});

test("where a rule says so, somebody is asked whether a call is sent again whose outcome is unknown", async () => {
  expect((await lostOnce("asks", { replay: "never" })).slice(0, 2)).toEqual([2, "SUCCEEDED"]);
  expect((await lostOnce("asks-yes", { replay: "never" })).slice(0, 2)).toEqual([2, "SUCCEEDED"]);
  expect(await lostOnce("asks-no", { replay: "never" })).toEqual([
    ...[1, "SUCCEEDED", "OUTCOME_UNKNOWN"],
    expect.stringContaining("was not sent again"),
  ]);
});
