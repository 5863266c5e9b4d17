import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SpanSet } from "./span-set.ts";
import { buildTree } from "./span-tree.ts";
import { span } from "./test-span.ts";
import { drawnDepth, visibleRows } from "./visible-rows.ts";

const shape = (tree: ReturnType<typeof buildTree>) => tree.spans.map(({ id }, i) => `${tree.depth[i]}:${id}`);
const names = (tree: ReturnType<typeof buildTree>, rows: Int32Array) => [...rows].map((row) => tree.spans[row]?.id);

describe("buildTree", () => {
  it("walks parents before children, by start, then by the producer's sequence", () => {
    const tree = buildTree([
      span({ id: "late", parentId: "root", startMs: 9 }),
      span({ id: "second", parentId: "root", startMs: 1, sequence: 2 }),
      span({ id: "first", parentId: "root", startMs: 1, sequence: 1 }),
      span({ id: "root" }),
      span({ id: "inner", parentId: "first", startMs: 2 }),
    ]);
    expect(shape(tree)).toEqual(["0:root", "1:first", "2:inner", "1:second", "1:late"]);
    expect([...tree.end]).toEqual([5, 3, 3, 4, 5]);
    expect([...tree.parent]).toEqual([-1, 0, 1, 0, 0]);
  });

  it("shows a span whose parent never came, and puts it in its place when it does", () => {
    const orphan = span({ id: "orphan", parentId: "missing", startMs: 5 });
    expect(shape(buildTree([orphan]))).toEqual(["0:orphan"]);
    expect(shape(buildTree([orphan, span({ id: "missing", startMs: 1 })]))).toEqual(["0:missing", "1:orphan"]);
  });

  it("breaks circles, also of one", () => {
    expect(shape(buildTree([span({ id: "a", parentId: "a" })]))).toEqual(["0:a"]);
    const circle = [span({ id: "a", parentId: "b" }), span({ id: "b", parentId: "a", startMs: 1 })];
    expect(shape(buildTree(circle))).toEqual(["0:a", "1:b"]);
  });

  it("takes a chain of 20,000 without a stack", () => {
    const chain = Array.from({ length: 20_000 }, (_, i) => span({ id: `s${i}`, parentId: i === 0 ? "" : `s${i - 1}` }));
    const tree = buildTree(chain);
    expect(tree.depth.at(-1)).toBe(19_999);
    expect(drawnDepth(tree, 19_999)).toBe(20);
  });

  it("holds every span once, whatever the parents, in an order that does not depend on arrival", () => {
    const ids = fc.constantFrom("", "0", "1", "2", "3", "4", "9");
    const any = fc
      .array(fc.tuple(ids, fc.integer({ min: 0, max: 3 })), { maxLength: 8 })
      .map((list) => list.map(([parentId, startMs], i) => span({ id: String(i), parentId, startMs })));
    fc.assert(
      fc.property(any, (spans) => {
        const tree = buildTree(spans);
        expect(tree.spans.map(({ id }) => id).sort()).toEqual(spans.map(({ id }) => id).sort());
        expect(shape(buildTree([...spans].reverse()))).toEqual(shape(tree));
        for (const [i, end] of tree.end.entries()) expect(end).toBeGreaterThan(i);
      }),
    );
  });
});

describe("visibleRows", () => {
  const tree = buildTree([
    span({ id: "root", kind: "task" }),
    span({ id: "round", parentId: "root", kind: "round", startMs: 1 }),
    span({ id: "call", parentId: "round", name: "Gateway_Log", startMs: 2 }),
    span({ id: "deep", parentId: "call", attributes: { "drover.exec.language": "python" }, startMs: 3 }),
    span({ id: "other", parentId: "root", error: "It broke.", startMs: 4 }),
  ]);

  it("leaves out what is inside a closed branch", () => {
    expect(names(tree, visibleRows(tree, { search: "", collapsed: new Set() }))).toHaveLength(5);
    const closed = visibleRows(tree, { search: "", collapsed: new Set(["round"]) });
    expect(names(tree, closed)).toEqual(["root", "round", "other"]);
  });

  it("with a search shows what matches and what leads to it, closed or not", () => {
    const search = (text: string) => names(tree, visibleRows(tree, { search: text, collapsed: new Set(["root"]) }));
    expect(search("gateway")).toEqual(["root", "round", "call"]);
    expect(search("PYTHON")).toEqual(["root", "round", "call", "deep"]);
    expect(search("broke")).toEqual(["root", "other"]);
    expect(search("nowhere")).toEqual([]);
  });

  it("does not indent for a round", () => {
    expect(tree.spans.map((_, index) => drawnDepth(tree, index))).toEqual([0, 1, 1, 2, 1]);
  });
});

describe("SpanSet", () => {
  it("keeps the newest form of each span", () => {
    const set = new SpanSet();
    expect(set.merge([span({ id: "a", revision: 2, endMs: 5 })])).toBe(true);
    expect(set.merge([span({ id: "a", revision: 1 }), span({ id: "a", revision: 2 })])).toBe(false);
    expect(set.get("a")?.endMs).toBe(5);
    expect(set.merge([span({ id: "a", revision: 3, endMs: 6 })])).toBe(true);
    expect(set.all()).toHaveLength(1);
  });
});
