import { create } from "@bufbuild/protobuf";
import { TokenDeltaSchema } from "@drover/proto/event/v1/bus";
import { type TaskEvent, TaskEventSchema, TaskState } from "@drover/proto/event/v1/task_event";
import { WatchResetSchema } from "@drover/proto/orchestrator/v1/task_service";
import { describe, expect, it } from "vitest";
import { deltaFrame, resetFrame, taskEventFrames } from "./task-event-frames.ts";

const event = (sequence: bigint, of: TaskEvent["event"]) =>
  create(TaskEventSchema, { taskId: "t", sequence, event: of });

describe("taskEventFrames", () => {
  it.each([
    [{ case: "assistantMessage", value: { text: "hi\nyou" } }, "agent.message.completed"],
    [{ case: "toolCallRequested", value: { tool: "grep" } }, "tool.call.requested"],
    [{ case: "toolCallCompleted", value: { tool: "grep" } }, "tool.call.completed"],
    [{ case: "taskCompleted", value: { state: TaskState.FAILED } }, "task.completed"],
  ] as const)("names %j", (of, name) => {
    const text = taskEventFrames(create(TaskEventSchema, { taskId: "t", sequence: 7n, event: of }));
    const [id, eventLine, data] = text?.split("\n") ?? [];
    expect([id, eventLine]).toEqual(["id: 7", `event: ${name}`]);
    expect(JSON.parse(data?.slice(6) ?? "")).toMatchObject({
      taskId: "t",
      sequence: "7",
      [of.case]: expect.anything(),
    });
  });

  it("passes over an event of a later version", () => {
    expect(taskEventFrames(event(3n, { case: undefined }))).toBeUndefined();
  });

  it("gives a reset the id that the next events come after", () => {
    const text = resetFrame(create(WatchResetSchema, { sequence: 41n, task: { id: "t" } }));
    expect(text).toMatch(/^id: 41\nevent: task\.reset\ndata: /);
    expect(JSON.parse(text.split("data: ")[1] ?? "")).toMatchObject({ sequence: "41", task: { id: "t" } });
  });

  it("gives a delta no id", () => {
    const text = deltaFrame(create(TokenDeltaSchema, { taskId: "t", step: 2n, text: "x" }));
    expect(text).toMatch(/^event: agent\.message\.delta\ndata: /);
  });
});
