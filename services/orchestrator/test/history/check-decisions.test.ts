import { expect, test } from "vitest";
import type { ToolCallRecord } from "../../src/domain/step.ts";
import { decisionFaults } from "./check-decisions.ts";
import type { History, Operation, RecordedApproval, RecordedTask } from "./history.ts";

const call: ToolCallRecord = {
  ...{ callId: "c1", stepSeq: 2, ordinal: 0, providerCallId: "p", tool: "run_code", arguments: '{"code":"print x"}' },
  ...{ argumentsHash: "h", policyEffect: "ask", policyRule: "careful", allowedCommands: [] as string[] },
  ...{ state: "SUCCEEDED", shown: "OK", spillPointer: "", resultCharacters: 2 },
} as const;

const approval: RecordedApproval = {
  ...{ id: "a1", callId: "c1", rule: "careful", argumentsHash: "h", state: "APPROVED", by: "bob", edited: false },
  ...{ late: false, changes: ["PENDING", "APPROVED"] },
};

const decidedEvent = { sequence: 1, text: "e", type: "approval_decided", approvalId: "a1" };

const task: RecordedTask = {
  ...{ id: "t1", state: "SUCCEEDED", version: 8, lastSequence: 6, epoch: 2, steps: [], transitions: [] },
  ...{ calls: [call], approvals: [approval], events: [decidedEvent] },
};

const asked = { approvalId: "a1", callId: "c1", state: "APPROVED", by: "bob", edited: false } as const;
const byBob = { state: "APPROVED", by: "bob" };
const decided: Operation = {
  ...{ kind: "decide", invokedAt: 10, settledAt: 12, outcome: "ok", taskId: "t1", accepted: true },
  decision: { ...asked, told: byBob },
};
/** Ann would have denied it, and was told of Bob. */
const beaten: Operation = {
  ...{ ...decided, outcome: "failed", accepted: false },
  decision: { ...asked, state: "DENIED", by: "ann", told: byBob },
};
const effect = { callId: "c1", key: "print x", at: 11, completed: true };

const sound: History = { operations: [decided, beaten], effects: [effect], owners: [], watches: [], tasks: [task] };

const faultsOf = (history: History) => [...decisionFaults(history)];
const withTask = (fields: Partial<RecordedTask>): History => ({ ...sound, tasks: [{ ...task, ...fields }] });
const settledAs = (fields: Partial<RecordedApproval>) => ({ approvals: [{ ...approval, ...fields }] });
const expired = settledAs({ state: "EXPIRED", by: "expiry", late: true, changes: ["PENDING", "EXPIRED"] });
const denied = settledAs({ state: "DENIED", by: "ann", changes: ["PENDING", "DENIED"] });
const withdrawn = settledAs({ state: "WITHDRAWN", by: "eve", changes: ["PENDING", "WITHDRAWN"] });
const annDenies: Operation = { ...decided, decision: { ...asked, ...{ state: "DENIED", by: "ann" } } };
const notRun: ToolCallRecord = { ...call, state: "DENIED" };
const unknown = (operation: Operation): Operation => ({ ...operation, outcome: "unknown", accepted: false });
const cancel: Operation = { ...decided, kind: "cancel" };
const resume: Operation = { ...decided, kind: "resume", invokedAt: 20, settledAt: 21 };
const goesOn = [{ version: 3, from: "CANCELLED", to: "RUNNING", actor: "bob", outputEvent: 3 }];

test("an approval, an edit, a denial, an expiry, a withdrawal and a resume are sound, also where an answer was lost", () => {
  const edit = { ...decided, decision: { ...asked, edited: true, told: byBob } };
  const lost = { ...decided, decision: asked };
  for (const history of [
    sound,
    { ...sound, operations: [unknown(lost)] },
    { ...withTask({ ...settledAs({ edited: true }) }), operations: [edit] },
    { ...withTask({ ...denied, calls: [notRun] }), operations: [annDenies], effects: [] },
    { ...withTask({ ...expired, calls: [notRun] }), operations: [], effects: [] },
    {
      ...withTask({ ...withdrawn, state: "CANCELLED", calls: [{ ...call, state: "CANCELLED" }] }),
      ...{ operations: [cancel], effects: [] },
    },
    { ...withTask({ transitions: goesOn }), operations: [decided, cancel, resume] },
    { ...withTask({ transitions: goesOn }), operations: [decided, cancel, unknown(resume)] },
    { ...sound, operations: [decided, unknown(resume)] },
  ]) {
    expect(faultsOf(history)).toEqual([]);
  }
});

test.each<[string, RegExp, History]>([
  ["a decision that was applied twice", /told 2 times/, withTask({ events: [decidedEvent, decidedEvent] })],
  [
    "a decision that stands in the log of approvals twice",
    /went PENDING, APPROVED, APPROVED/,
    withTask(settledAs({ changes: ["PENDING", "APPROVED", "APPROVED"] })),
  ],
  ["a task that was not told", /told 0 times/, withTask({ events: [] })],
  [
    "two different winners",
    /told DENIED by ann, and it is APPROVED by bob/,
    { ...sound, operations: [decided, { ...beaten, decision: { ...asked, told: { state: "DENIED", by: "ann" } } }] },
  ],
  [
    "a denial that was accepted beside the approval",
    /ann was told that it is DENIED/,
    { ...sound, operations: [decided, annDenies] },
  ],
  [
    "an approval that nobody asked for",
    /APPROVED by bob, who had not asked/,
    { ...sound, operations: [{ ...decided, outcome: "failed" }] },
  ],
  [
    "a winner who had asked for something else",
    /APPROVED by bob, who had not asked/,
    { ...sound, operations: [unknown({ ...decided, decision: { ...asked, edited: true } }), unknown(beaten)] },
  ],
  ["an approval that is left open", /nobody settled it/, withTask(settledAs({ state: "PENDING" }))],
  ["an approval that is lost", /approval a1 is lost/, withTask({ approvals: [] })],
  ["a decision after the time was over", /when its time was over/, withTask(settledAs({ late: true }))],
  [
    "an expiry before the time was over",
    /EXPIRED by expiry, who had not asked/,
    withTask(settledAs({ state: "EXPIRED", by: "expiry", late: false, changes: ["PENDING", "EXPIRED"] })),
  ],
  ["a withdrawal without a cancel", /nobody cancelled its task/, withTask(withdrawn)],
  ["a call that was sent without its approval", /sent without its approval/, withTask({ approvals: [] })],
  ["a call that was sent after a deny", /sent, and its approval is DENIED/, withTask(denied)],
  ["a program that was run after a deny", /run, and its approval is DENIED/, withTask({ ...denied, calls: [notRun] })],
  ["a program that was run after its time", /run, and its approval is EXPIRED/, withTask(expired)],
  [
    "a program that was run before it was approved",
    /run before anybody approved/,
    { ...sound, effects: [{ ...effect, at: 9 }] },
  ],
  [
    "other arguments than were approved",
    /other arguments than were approved/,
    withTask({ calls: [{ ...call, argumentsHash: "other" }] }),
  ],
  [
    "a decider who was told of other arguments",
    /was told other arguments/,
    { ...sound, operations: [{ ...decided, decision: { ...asked, edited: true, told: byBob } }, decided] },
  ],
  ["a resume that is lost", /resumed 0 times, and 1 to 1/, { ...sound, operations: [decided, resume] }],
  ["a resume that was done twice", /resumed 2 times/, withTask({ transitions: [...goesOn, ...goesOn] })],
  ["a resume that nobody asked for", /resumed 1 times, and 0 to 0/, withTask({ transitions: goesOn })],
  [
    "a cancel that was overwritten by what a resume before it began",
    /succeeded after its cancel/,
    {
      ...withTask({ transitions: goesOn }),
      operations: [decided, resume, { ...cancel, invokedAt: 30, settledAt: 31 }],
    },
  ],
])("finds %s", (_, fault, history) => {
  expect(faultsOf(history)).toContainEqual(expect.stringMatching(fault));
});
