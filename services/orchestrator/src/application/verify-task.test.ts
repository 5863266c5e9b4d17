import type { ModelDecision, ModelGateway } from "@drover/model";
import fc from "fast-check";
import { expect, test } from "vitest";
import { claim, echo, FakeRecord, partsOf } from "../../test/fake-record.ts";
import { type AgentSnapshot, defaultAgent } from "../domain/agent.ts";
import { RunControl } from "./run-control.ts";
import { type RunParts, runTask } from "./run-task.ts";

const usage = { inputTokens: 3, outputTokens: 2, cachedInputTokens: 0, reasoningTokens: 0, estimated: false };

function recordOf(agent: Partial<AgentSnapshot>): FakeRecord {
  const record = new FakeRecord();
  record.task = { ...record.task, agentBody: { ...defaultAgent, ...agent } };
  return record;
}

/** Answers by `answer`, judges by `judge`, and counts both. */
function modelOf(answer: (told: string) => string, judge: (question: string) => string) {
  const asked = { agent: 0, verifier: 0 };
  const model: ModelGateway = {
    async *decide({ messages }) {
      const [first] = messages;
      const newest = messages.findLast((message) => message.role === "user");
      const told = newest?.role === "user" ? newest.text : "";
      const verifies = first?.role === "system" && first.text.startsWith("You check an answer");
      asked[verifies ? "verifier" : "agent"]++;
      const decision: ModelDecision = { kind: "final", text: verifies ? judge(told) : answer(told) };
      yield { type: "decision", decision, usage, model: "m", finishReason: "stop" };
    },
  };
  return { model, asked };
}

const judged = { verifier: { kind: "model", model: "", criteria: "It is good." } } as const;
const verdict = (question: string) =>
  question.includes("better") ? '{"passed": true}' : '{"passed": false, "findings": ["bad"]}';
const better = (told: string) => (told.includes("bad") ? "a better answer" : "an answer");

test("an answer that is sent back costs one turn and one verdict each time, both in the usage", async () => {
  const record = recordOf(judged);
  const { model, asked } = modelOf(better, verdict);
  expect(await runTask({ ...partsOf(record, echo), model }, claim, new RunControl())).toBe("ended");
  expect(record.task).toMatchObject({ state: "SUCCEEDED", answer: "a better answer", reworks: 1 });
  expect(asked).toEqual({ agent: 2, verifier: 2 });
  expect(record.task.usage.inputTokens).toBe(12);
});

test("lost at any commit, nothing that was recorded is paid for again", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ commit: fc.nat(8), written: fc.boolean() }), { maxLength: 4 }),
      async (losses) => {
        const record = recordOf(judged);
        const { model, asked } = modelOf(better, verdict);
        const parts: RunParts = { ...partsOf(record, echo), model };
        let unrecorded = 0;
        for (const loss of losses) {
          record.loseAt = loss;
          await runTask(parts, claim, new RunControl());
          if (record.loseAt === undefined && !loss.written) unrecorded++;
        }
        record.loseAt = undefined;
        await runTask(parts, claim, new RunControl());
        expect(record.task).toMatchObject({ state: "SUCCEEDED", answer: "a better answer", reworks: 1 });
        const kinds = record.log.steps.map((step) => step.body.kind);
        expect(kinds).toEqual(["prompt", "turn", "verification", "turn", "verification"]);
        expect(asked.agent + asked.verifier).toBeLessThanOrEqual(4 + unrecorded);
        expect(record.task.usage.inputTokens).toBe(12);
      },
    ),
    { numRuns: 60 },
  );
});

test("an answer that never passes is kept, and the work can go on when somebody resumes it", async () => {
  const record = recordOf({ ...judged, maxReworks: 1 });
  const { model } = modelOf(() => "an answer", verdict);
  await runTask({ ...partsOf(record, echo), model }, claim, new RunControl());
  expect(record.task).toMatchObject({ state: "FAILED", failureReason: "VERIFICATION_FAILED", answer: "an answer" });
  expect(record.task.verification).toMatchObject({ passed: false, verifier: "model", reworks: 1 });
  record.task = { ...record.task, state: "RUNNING", reworks: 0 };
  const resumed = modelOf(better, verdict);
  await runTask({ ...partsOf(record, echo), model: resumed.model }, claim, new RunControl());
  expect(record.task).toMatchObject({ state: "SUCCEEDED", answer: "a better answer" });
});

test("a verifier that fails, or says what cannot be read twice, blocks nothing and is told", async () => {
  const record = recordOf(judged);
  const { model, asked } = modelOf(
    () => "an answer",
    () => "I like it.",
  );
  await runTask({ ...partsOf(record, echo), model }, claim, new RunControl());
  expect([record.task.state, record.task.verification?.findings[0]?.code, asked.verifier]).toEqual([
    "SUCCEEDED",
    "VERIFIER_UNAVAILABLE",
    2,
  ]);
  const other = recordOf({ verifier: { kind: "code", language: "python", code: "x" } });
  const away = { rules: () => [], jsonSchema: () => [], code: () => Promise.reject(new Error("away")) };
  await runTask({ ...partsOf(other, echo), model, checks: away }, claim, new RunControl());
  expect([other.task.state, other.task.verification?.findings[0]?.blocking]).toEqual(["SUCCEEDED", false]);
});
