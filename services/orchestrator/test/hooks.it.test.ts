import { HookPoint, ToolServerKind } from "@drover/proto/orchestrator/v1/tool_server_service";
import { callsScript } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startFakeProvider } from "./fake-provider.ts";
import { ended, type Harness, type Replica, startHarness, stateName, submit } from "./harness.ts";
import { tool, well, withTools } from "./odd-tools.ts";

let harness: Harness;
let replica: Replica & AsyncDisposable;
const ran: string[] = [];
beforeAll(async () => {
  harness = await startHarness();
  const work = tool("work", {
    execute: async (_args, { callId }) => {
      ran.push(callId);
      return well("worked", "the body");
    },
  });
  replica = await harness.orchestrator({ DROVER_TOOL_PRIVATE_HOSTS: "127.0.0.1" }, withTools([work]));
  harness.model.use(callsScript([{ name: "work", arguments: {} }]));
});
afterAll(async () => {
  await replica?.[Symbol.asyncDispose]();
  await harness?.[Symbol.asyncDispose]();
});

const every = [HookPoint.BEFORE_MODEL, HookPoint.AFTER_MODEL, HookPoint.BEFORE_TOOL, HookPoint.AFTER_TOOL];

async function put(tenant: string, address: string, fields: object = {}): Promise<void> {
  const server = { name: "guard", kind: ToolServerKind.GRPC_HOOK, address, enabled: true, points: every, ...fields };
  await replica.servers.putToolServer({ server }, replica.as(tenant, ["toolservers:write"]));
}

const run = async (tenant: string) => await ended(replica, tenant, (await submit(replica, tenant, "Work")).id);
const publicKeys = () => String(harness.environment.DROVER_IDENTITY_PUBLIC_KEYS);

test("a hook adds words to the prompt, sees each call, and puts its own words in the place of a result", async () => {
  const seen: string[] = [];
  await using guard = await startFakeProvider({
    ...{ name: "guard", publicKeys: publicKeys() },
    hook: {
      beforeModel: ({ tools }) => {
        seen.push(`before model: ${tools.join(" ")}`);
        return { instructions: "Mind the sheep." };
      },
      afterModel: ({ tools }) => {
        seen.push(`after model: ${tools.join(" ")}`);
        return {};
      },
      beforeTool: ({ tool: name }) => {
        seen.push(`before ${name}`);
        return {};
      },
      afterTool: ({ tool: name, text }) => {
        seen.push(`after ${name}: ${text}`);
        return { text: "only this" };
      },
    },
  });
  await put("words", guard.address);
  const asked = harness.model.requests.length;
  expect((await run("words")).answer).toBe("1. OK: worked\nonly this");
  expect(seen).toEqual([
    ...["before model: work", "after model: work", "before work", "after work: the body"],
    ...["before model: work", "after model: "],
  ]);
  expect(JSON.stringify(harness.model.requests[asked])).toContain("Mind the sheep.");
});

test("a hook that refuses a call keeps it from running, and the model is told why", async () => {
  await using guard = await startFakeProvider({
    ...{ name: "guard", publicKeys: publicKeys() },
    hook: { beforeTool: () => ({ refusal: "not on a Sunday" }) },
  });
  const before = ran.length;
  await put("refuses", guard.address, { points: [HookPoint.BEFORE_TOOL] });
  expect((await run("refuses")).answer).toMatch(/^1\. ERROR DENIED_BY_HOOK: .*not on a Sunday/);
  expect(ran).toHaveLength(before);
});

test("a hook that refuses a question fails the task by its name", async () => {
  await using guard = await startFakeProvider({
    ...{ name: "guard", publicKeys: publicKeys() },
    hook: { beforeModel: () => ({ refusal: "no models today" }) },
  });
  await put("no-model", guard.address, { points: [HookPoint.BEFORE_MODEL] });
  const task = await run("no-model");
  expect([stateName(task.state), task.failureReason]).toEqual(["FAILED", "HOOK_REFUSED"]);
  expect(task.failureMessage).toContain("no models today");
});

const nobody = "127.0.0.1:9";

test("where a hook does not answer, work goes on without it if its row says so", async () => {
  await put("open", nobody, { failOpen: true, timeoutMs: 500n });
  expect((await run("open")).answer).toBe("1. OK: worked\nthe body");
});

test.each([
  ["before a call it is not run", [HookPoint.BEFORE_TOOL], /^1\. ERROR MIDDLEWARE_FAILED: The call was not run/],
  ["after a call its result is withheld", [HookPoint.AFTER_TOOL], /^1\. ERROR MIDDLEWARE_FAILED: The call was run/],
])("where a hook does not answer and must, %s", async (what, points, answer) => {
  const tenant = what.replaceAll(/\W/g, "-");
  await put(tenant, nobody, { points, timeoutMs: 500n });
  const done = await run(tenant);
  expect(done.answer).toMatch(answer);
  expect(done.answer).not.toContain("the body");
});

test("where a hook of the model does not answer and must, the task fails by its name", async () => {
  await put("closed", nobody, { points: [HookPoint.AFTER_MODEL], timeoutMs: 500n });
  expect((await run("closed")).failureReason).toBe("HOOK_UNAVAILABLE");
});
