import { describe, expect, it } from "vitest";
import { actionOf, type KeyState } from "./keyboard.ts";
import { routeOf, spanHash, spanIn } from "./route.ts";

const state: KeyState = { rows: 10, row: 4, branch: "leaf", parentRow: 2, page: 5 };

describe("actionOf", () => {
  it.each([
    ["ArrowDown", { kind: "select", row: 5 }],
    ["ArrowUp", { kind: "select", row: 3 }],
    ["PageDown", { kind: "select", row: 9 }],
    ["PageUp", { kind: "select", row: 0 }],
    ["Home", { kind: "select", row: 0 }],
    ["End", { kind: "select", row: 9 }],
    ["Enter", { kind: "open" }],
    ["Escape", { kind: "close" }],
    ["/", { kind: "search" }],
    ["e", { kind: "next-error" }],
    ["f", { kind: "follow" }],
    ["?", { kind: "help" }],
    ["x", undefined],
  ])("%s", (key, action) => {
    expect(actionOf(key, state)).toEqual(action);
  });

  it("goes in with right and out with left", () => {
    expect(actionOf("ArrowRight", { ...state, branch: "closed" })).toEqual({ kind: "expand", row: 4 });
    expect(actionOf("ArrowRight", { ...state, branch: "open" })).toEqual({ kind: "select", row: 5 });
    expect(actionOf("ArrowLeft", { ...state, branch: "open" })).toEqual({ kind: "collapse", row: 4 });
    expect(actionOf("ArrowLeft", state)).toEqual({ kind: "select", row: 2 });
    expect(actionOf("ArrowLeft", { ...state, parentRow: -1 })).toEqual({ kind: "select", row: 4 });
  });

  it("begins at the top and stays within the list", () => {
    for (const key of ["ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight"]) {
      expect(actionOf(key, { ...state, row: -1 })).toEqual({ kind: "select", row: 0 });
    }
    expect(actionOf("ArrowDown", { ...state, row: 9 })).toEqual({ kind: "select", row: 9 });
    expect(actionOf("ArrowDown", { ...state, rows: 0 })).toBeUndefined();
  });
});

describe("routeOf", () => {
  const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  const task = "0192f3a1-7c1e-7abc-8def-0123456789ab";

  it("knows the list, a trace by its id and a task by its", () => {
    expect(routeOf("/")).toEqual({ kind: "list" });
    expect(routeOf(`/t/${trace.toUpperCase()}`)).toEqual({ kind: "trace", traceId: trace });
    expect(routeOf(`/t/${task}/`)).toEqual({ kind: "task", taskId: task });
  });

  it.each(["/x", "/t/short", `/t/${trace}/more`, "/t/../etc"])("knows nothing at %s", (path) => {
    expect(routeOf(path)).toEqual({ kind: "unknown" });
  });

  it("links to a span and back", () => {
    expect(spanIn(spanHash("00f067aa0ba902b7"))).toBe("00f067aa0ba902b7");
    expect(spanIn("#span=<script>")).toBe("");
    expect(spanHash("")).toBe("");
  });
});
