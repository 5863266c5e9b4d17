import { describe, expect, it } from "vitest";
import { sseComment, sseFrame } from "./sse-frame.ts";

describe("sseFrame", () => {
  it("writes id, name and data", () => {
    expect(sseFrame({ id: "7", event: "task.completed", data: '{"a":1}' })).toBe(
      'id: 7\nevent: task.completed\ndata: {"a":1}\n\n',
    );
  });

  it("leaves the id out so that a reader keeps its last one", () => {
    expect(sseFrame({ event: "agent.message.delta", data: "{}" })).toBe("event: agent.message.delta\ndata: {}\n\n");
  });

  it("cannot be broken out of by its data, name or id", () => {
    expect(sseFrame({ id: "1\nevent: forged", event: "x\r\ndata: forged", data: "a\r\nid: 9\rb\n\nc" })).toBe(
      "id: 1 event: forged\nevent: x  data: forged\ndata: a\ndata: id: 9\ndata: b\ndata: \ndata: c\n\n",
    );
    expect(sseComment("a\nb")).toBe(": a b\n\n");
  });
});
