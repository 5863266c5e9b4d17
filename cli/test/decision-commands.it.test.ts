import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ConnectRouter } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import { AgentService, type Policy, PolicyEffect } from "@drover/proto/orchestrator/v1/agent_service";
import {
  ApprovalService,
  ApprovalState,
  type DecideApprovalRequest,
} from "@drover/proto/orchestrator/v1/approval_service";
import { afterAll, expect, test } from "vitest";
import { startDrover } from "./drover-process.ts";
import { startFakeGateway, thrown } from "./fake-gateway.ts";

const folder = mkdtempSync(join(tmpdir(), "drover-decisions-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const waiting = {
  ...{ id: "0192f3a1-7c3e-7a52-9a0e-3f1d2b4c5d6e", taskId: "0192f3a1-0000-7000-8000-000000000001", tool: "bash" },
  ...{ argumentsPreview: '{"command":"rm \u001b[31m-r"}', argumentsHash: "a".repeat(64), state: ApprovalState.PENDING },
  ...{ rule: "ask-rm", reason: "it removes files", sequence: 1n },
};
const decided = { ...waiting, state: ApprovalState.APPROVED, decidedBy: "bob", edited: true, sequence: 2n };

function served() {
  const seen: { decision?: DecideApprovalRequest; readonly policies: Policy[]; watches: number } = {
    policies: [],
    watches: 0,
  };
  const serve = (router: ConnectRouter) => {
    router.service(ApprovalService, {
      listApprovals: ({ tool }) => ({ approvals: tool === "grep" ? [] : [waiting] }),
      async *watchApprovals({ afterSequence }) {
        yield { sequence: afterSequence };
        if (seen.watches++ === 0) {
          yield { approval: waiting, sequence: 1n };
          throw thrown(new DroverError("UNAVAILABLE", "The server shuts down."));
        }
        yield { approval: { ...decided, comment: `after ${afterSequence}` }, sequence: 2n };
      },
      decideApproval(request) {
        seen.decision = request;
        if (request.comment !== "late") return { approval: decided };
        throw new DroverError("ABORTED", "This approval was denied by carol.", { reason: "ALREADY_DECIDED" });
      },
    });
    router.service(AgentService, {
      putPolicy({ policy }) {
        if (policy !== undefined) seen.policies.push(policy);
        return { policy };
      },
      listPolicies: () => ({ policies: seen.policies }),
      checkPolicy: ({ tool }) => ({ effect: PolicyEffect.DENY, rule: `no-${tool}`, reason: "never" }),
    });
  };
  return { seen, serve };
}

async function run(words: readonly string[], gateway: { readonly url: string }) {
  const { code, stdout, stderr } = await startDrover([...words, "--url", gateway.url]).ended;
  return { code, out: stdout.toString(), err: String(stderr) };
}

test("approvals are listed with what they are about, and decided with the hash that was seen", async () => {
  const { seen, serve } = served();
  await using gateway = await startFakeGateway(serve);
  const list = await run(["approvals", "list"], gateway);
  expect(list.out).toContain(
    `${waiting.id}  pending    bash · policy ask-rm · it removes files · task ${waiting.taskId}`,
  );
  expect(list.out).toContain("rm \\x1b[31m-r");
  expect((await run(["approvals", "list", "--tool", "grep"], gateway)).out).toBe("Nothing waits for an approval.\n");
  const edit = join(folder, "edit.json");
  writeFileSync(edit, '{"command":"ls"}');
  const approve = await run(["approvals", "approve", "0192f3a1", "--edit", edit, "--comment", "less"], gateway);
  expect([approve.code, approve.out]).toEqual([0, expect.stringContaining("approved   bash · policy ask-rm")]);
  expect(seen.decision).toMatchObject({
    argumentsHash: "a".repeat(64),
    editedArguments: '{"command":"ls"}',
    comment: "less",
  });
  const late = await run(["approvals", "deny", waiting.id, "--comment", "late"], gateway);
  expect([late.code, late.err]).toEqual([1, expect.stringContaining("This approval was denied by carol.")]);
  expect((await run(["approvals", "approve", "ffffff"], gateway)).code).toBe(2);
});

test("a watch of approvals that breaks goes on after the last change", async () => {
  const { seen, serve } = served();
  await using gateway = await startFakeGateway(serve);
  const { code, out } = await run(["approvals", "watch", "--count", "2", "--json"], gateway);
  const { approvals } = JSON.parse(out);
  expect([code, seen.watches, approvals.length, approvals[1].comment]).toEqual([0, 2, 2, "after 1"]);
});

test("policies are written from a file, listed, and checked", async () => {
  const { seen, serve } = served();
  await using gateway = await startFakeGateway(serve);
  const file = join(folder, "policies.json");
  const condition = { path: "command", matches: "rm" };
  const one = { name: "no-rm", priority: 3, tool: "bash", effect: "POLICY_EFFECT_DENY", conditions: [condition] };
  writeFileSync(file, JSON.stringify([one, { name: "ask", tool: "*", effect: "POLICY_EFFECT_ASK" }]));
  const put = await run(["policies", "put", file], gateway);
  expect(put.out).toMatch(/^ {3}3 {2}no-rm +deny bash · 1 condition\n {3}0 {2}ask +ask \*\n$/);
  expect(seen.policies[0]?.conditions[0]?.test).toEqual({ case: "matches", value: "rm" });
  expect((await run(["policies", "list"], gateway)).out).toBe(put.out);
  expect((await run(["policies", "check", "bash"], gateway)).out).toBe("deny · policy no-bash · never\n");
  writeFileSync(file, '{"nam": 1}');
  expect(await run(["policies", "put", file], gateway)).toMatchObject({ code: 2, err: expect.stringContaining("nam") });
});
