import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type TaskEvent, TaskEventSchema, TaskState, ToolCallState } from "@drover/proto/event/v1/task_event";
import { Mode, type Task, TaskSchema } from "@drover/proto/orchestrator/v1/task";
import { expect, test } from "vitest";
import { createTaskRenderer } from "./task-renderer.ts";

type EventInit = NonNullable<Exclude<MessageInitShape<typeof TaskEventSchema>, TaskEvent>["event"]>;

const submitted = create(TaskSchema, {
  id: "0192f3a1-7c3e-7a52-9a0e-3f1d2b4c5d6e",
  state: TaskState.CREATED,
  mode: Mode.REACT,
  model: "qwen-max",
});

const ended = (changes: Partial<Omit<Task, "$typeName" | "$unknown">>): Task =>
  create(TaskSchema, {
    id: submitted.id,
    state: TaskState.SUCCEEDED,
    round: 3,
    startedAt: timestampFromMs(0),
    endedAt: timestampFromMs(18_400),
    usage: { inputTokens: 12_480n, outputTokens: 1_106n, costNanoUsd: 7_100_000n },
    ...changes,
  });

const status = (to: TaskState, reason = ""): EventInit => ({ case: "statusChanged", value: { to, reason } });
const says = (text: string): EventInit => ({ case: "assistantMessage", value: { text } });
const asks = (callId: string, tool: string, argumentsPreview = "{}"): EventInit => ({
  case: "toolCallRequested",
  value: { callId, tool, argumentsPreview },
});
const gives = (callId: string, tool: string, summary: string, durationMs: number, more = {}): EventInit => ({
  case: "toolCallCompleted",
  value: { callId, tool, summary, durationMs: BigInt(durationMs), state: ToolCallState.SUCCEEDED, ...more },
});

function show(
  events: readonly (readonly [number, number, EventInit])[],
  end?: Task,
  color = false,
  width = 80,
): string {
  let shown = "";
  const write = (text: string) => {
    shown += text;
  };
  using renderer = createTaskRenderer({ write, color, live: false, width });
  renderer.header(submitted, "http://localhost:7700/t/abc");
  events.forEach(([ms, round, event], index) => {
    const sequence = BigInt(index + 1);
    renderer.event(create(TaskEventSchema, { sequence, round, time: timestampFromMs(ms), event }));
  });
  if (end !== undefined) renderer.end(end);
  return shown;
}

test("an approval says what it is about, how to decide it, and what became of it", () => {
  const required = { approvalId: "0192-a", tool: "bash", rule: "ask-rm" };
  const decided = { approvalId: "0192-a", outcome: "denied", actor: "bob", comment: "not\u001b[31m now" };
  const shown = show([
    [0, 1, { case: "approvalRequired", value: required }],
    [9, 1, { case: "approvalDecided", value: decided }],
  ]);
  expect(shown.split("\n").slice(2, 5)).toEqual([
    "  approval 0192-a needed for bash: policy ask-rm",
    "  decide it: drover approvals approve 0192-a, or deny",
    "  approval 0192-a denied by bob: not\\x1b[31m now",
  ]);
});

test("a run reads from the first thought to the cost", () => {
  const shown = show(
    [
      [0, 0, status(TaskState.RUNNING)],
      [2300, 1, says("Look at the order, the payment and the gateway log together.")],
      [2300, 1, asks("a", "order_info")],
      [2300, 1, asks("b", "gateway_log")],
      [2702, 1, gives("a", "order_info", "ORD-2024-0117 · pending since 11:58", 402)],
      [
        4100,
        1,
        gives("b", "gateway_log", "log read", 1800, {
          resultCharacters: 40_212n,
          shownCharacters: 2_048n,
          spillPointer: "spill://7f3a/8c1e",
        }),
      ],
      [6100, 2, says("The log ends at noon; check the retries with a script.")],
      [6100, 2, asks("c", "run_code", '{"language": "python", "code": "print(1)"}')],
      [6300, 2, gives("c", "run_code", "exit code 0", 188)],
      [9000, 3, says("The capture timed out at 11:58.\nevidence: gateway_log")],
      [9000, 3, status(TaskState.VERIFYING)],
      [9100, 3, status(TaskState.SUCCEEDED)],
      [
        9100,
        3,
        {
          case: "taskCompleted",
          value: { state: TaskState.SUCCEEDED, answer: "The capture timed out at 11:58.\nevidence: gateway_log" },
        },
      ],
    ],
    ended({}),
  );
  const row = (left: string, duration: string) => left.padEnd(80 - duration.length) + duration;
  expect(shown.split("\n")).toEqual([
    "task 0192f3a1-7c3e · react · qwen-max · http://localhost:7700/t/abc",
    "",
    row(" 1  thinking   Look at the order, the payment and the gateway log", "2.3 s"),
    "               together.",
    row("    order_info       ORD-2024-0117 · pending since 11:58", "402 ms"),
    row("    gateway_log      log read · 40,212 characters, shown 2,048 · spill", "1.8 s"),
    "                     7f3a/8c1e",
    row(" 2  thinking   The log ends at noon; check the retries with a script.", "2.0 s"),
    row("    run_code python  exit code 0", "188 ms"),
    "",
    "The capture timed out at 11:58.",
    "evidence: gateway_log",
    "",
    "succeeded · 3 rounds · 12,480 in, 1,106 out · $0.0071 · 18.4 s",
    "",
  ]);
});

test("a failed call names its code, a failed task its reason", () => {
  const shown = show(
    [
      [0, 1, says("")],
      [0, 1, asks("a", "run_code", '{"language":"bash"}')],
      [5, 1, gives("a", "run_code", "no daemon", 5, { state: ToolCallState.FAILED, errorCode: "SANDBOX_UNAVAILABLE" })],
    ],
    ended({ state: TaskState.FAILED, failureReason: "MODEL_REFUSED", failureMessage: "The model declined.", round: 1 }),
    true,
  );
  expect(shown).toContain("\x1b[31mrun_code bash\x1b[39m    SANDBOX_UNAVAILABLE · no daemon");
  expect(shown).toContain("\nThe model declined. (MODEL_REFUSED)\n\n\x1b[31mfailed\x1b[39m");
  expect(shown).toContain("1 round\x1b");
});

test("the answer is shown once, also where only the task brings it", () => {
  const answer = "Forty-two.";
  const completed: EventInit = { case: "taskCompleted", value: { state: TaskState.SUCCEEDED, answer } };
  expect(show([[0, 1, completed]], ended({ answer })).split(answer)).toHaveLength(2);
  expect(show([], ended({ answer })).split(answer)).toHaveLength(2);
});

test("a thought that no event followed is printed at the end of a cancelled task", () => {
  const shown = show([[0, 1, says("half a plan")]], ended({ state: TaskState.CANCELLED }));
  expect(shown).toContain("half a plan");
  expect(shown).toContain("cancelled · 3 rounds");
});

test("no text of a task can act on the terminal", () => {
  const evil = "\x1b]0;owned\x07\x9b2J\u202eabc\r\x08";
  const shown = show(
    [
      [0, 1, says(evil)],
      [0, 1, asks(evil, evil, evil)],
      [0, 1, gives(evil, evil, evil, 1, { state: ToolCallState.FAILED, errorCode: evil, spillPointer: evil })],
      [0, 1, status(TaskState.WAITING_APPROVAL, evil)],
    ],
    ended({ state: TaskState.FAILED, answer: evil, failureReason: evil, failureMessage: evil }),
  );
  expect(shown.replaceAll("\n", "")).not.toMatch(/\p{Cc}|\p{Bidi_Control}/u);
  expect(shown).toContain("\\x1b]0;owned\\x07");
});

test("what runs moves on a terminal and leaves nothing behind", async () => {
  let shown = "";
  const write = (text: string) => {
    shown += text;
  };
  const renderer = createTaskRenderer({ write, color: false, live: true, width: 60, now: () => 5000 });
  renderer.header(submitted, "http://x/t/1");
  renderer.event(
    create(TaskEventSchema, { time: timestampFromMs(2000), round: 1, event: asks("a", "run_code", '{"code":"1"}') }),
  );
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(shown).toMatch(/⠋ {2}run_code +\{"code":"1"\} +3\.0 s\n/);
  renderer.end(ended({}));
  const after = shown.length;
  expect(shown).toContain("\r\x1b[1A\x1b[J\nsucceeded");
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(shown.length).toBe(after);
});
