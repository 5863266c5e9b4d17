import { expect, test } from "vitest";
import { ToolCallAssembly, type ToolCallDelta } from "./tool-call-assembly.ts";

const piece = (index: unknown, id: unknown, name: unknown, args: unknown): ToolCallDelta => ({
  ...(index === undefined ? {} : { index }),
  ...(id === undefined ? {} : { id }),
  function: { ...(name === undefined ? {} : { name }), ...(args === undefined ? {} : { arguments: args }) },
});

const twoCalls = [
  ["read", '{"path":"a"}'],
  ["grep", '{"pattern":"b"}'],
];

const shapes: Record<string, { readonly deltas: readonly ToolCallDelta[]; readonly calls: unknown }> = {
  "id on the first piece only": {
    deltas: [
      piece(0, "c1", "read", ""),
      piece(0, undefined, undefined, '{"path"'),
      piece(0, undefined, undefined, ':"a"}'),
      piece(1, "c2", "grep", ""),
      piece(1, undefined, undefined, '{"pattern":"b"}'),
    ],
    calls: twoCalls,
  },
  "empty id on later pieces": {
    deltas: [
      piece(0, "c1", "read", '{"path"'),
      piece(0, "", "", ':"a"}'),
      piece(1, "c2", "grep", '{"patt'),
      piece(1, "", "", 'ern":"b"}'),
    ],
    calls: twoCalls,
  },
  "the same id and name on each piece": {
    deltas: [
      piece(0, "c1", "read", '{"path"'),
      piece(0, "c1", "read", ':"a"}'),
      piece(1, "c2", "grep", '{"patt'),
      piece(1, "c2", "grep", 'ern":"b"}'),
    ],
    calls: twoCalls,
  },
  "interleaved by index": {
    deltas: [
      piece(0, "c1", "read", '{"path"'),
      piece(1, "c2", "grep", '{"patt'),
      piece(0, undefined, undefined, ':"a"}'),
      piece(1, undefined, undefined, 'ern":"b"}'),
    ],
    calls: twoCalls,
  },
  "no id at all": {
    deltas: [piece(0, undefined, "read", '{"path":"a"}'), piece(1, undefined, "grep", '{"pattern":"b"}')],
    calls: twoCalls,
  },
  "no index": {
    deltas: [
      piece(undefined, "c1", "read", '{"path"'),
      piece(undefined, undefined, undefined, ':"a"}'),
      piece(undefined, "c2", "grep", '{"patt'),
      piece(undefined, "c2", undefined, 'ern":"b"}'),
    ],
    calls: twoCalls,
  },
  "neither index nor id": {
    deltas: [
      piece(undefined, undefined, "read", '{"path":"a"}'),
      piece(undefined, undefined, "grep", '{"pattern":"b"}'),
    ],
    calls: twoCalls,
  },
  "the same index for two calls": {
    deltas: [
      piece(0, "c1", "read", '{"path":"a"}'),
      piece(0, "c2", "grep", '{"patt'),
      piece(0, undefined, undefined, 'ern":"b"}'),
    ],
    calls: twoCalls,
  },
  "gaps in the index, the name after the arguments": {
    deltas: [
      piece(3, "c1", undefined, '{"path":"a"}'),
      piece(3, undefined, "read", undefined),
      piece(7, 42, "grep", '{"pattern":"b"}'),
    ],
    calls: twoCalls,
  },
  "the whole arguments repeated at the end": {
    deltas: [piece(0, "c1", "read", '{"path":"a"}'), piece(0, "c1", "read", '{"path":"a"}')],
    calls: twoCalls.slice(0, 1),
  },
  "an object for arguments, none for arguments, no name": {
    deltas: [
      piece(0, "c1", "read", { path: "a" }),
      piece(1, "c2", "list", undefined),
      piece(2, "c3", undefined, '{"x":1}'),
    ],
    calls: [
      ["read", '{"path":"a"}'],
      ["list", "{}"],
    ],
  },
};

test.each(Object.entries(shapes))("assembles calls from a stream with %s", (_, { deltas, calls }) => {
  const assembly = new ToolCallAssembly();
  for (const delta of deltas) assembly.add(delta);
  const made = assembly.finish();
  expect(made.map((call) => [call.name, call.argumentsJson])).toEqual(calls);
  expect(new Set(made.map((call) => call.providerCallId)).size).toBe(made.length);
  expect(new Set(made.map((call) => call.callId)).size).toBe(made.length);
});

test("replaces an id that a turn uses twice and keeps the first", () => {
  const assembly = new ToolCallAssembly();
  assembly.add(piece(0, "same", "read", "{}"));
  assembly.add(piece(1, "same", "grep", "{}"));
  const [first, second] = assembly.finish();
  expect(first?.providerCallId).toBe("same");
  expect(second?.providerCallId).toMatch(/^call_/);
});

test("keeps argument text exactly, spaces and escapes included", () => {
  const exact = '{ "code" : "a\\n\\u00e9 ｜ 你好" }\n';
  const assembly = new ToolCallAssembly();
  for (const character of exact) assembly.add(piece(0, "c", "run", character));
  expect(assembly.finish()[0]?.argumentsJson).toBe(exact);
});
