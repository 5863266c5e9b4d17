import fc from "fast-check";
import { expect, test } from "vitest";
import type { TaskLog, ToolCallRecord } from "./step.ts";
import { withoutCode } from "./tool-call-markup.ts";
import { findingsRequest, hasCitation, hasPassages, verifyAnswer } from "./verify-answer.ts";

const callId = "0198a1b2-0000-7000-8000-0123456789ab";
const base: ToolCallRecord = {
  ...{ callId, stepSeq: 2, ordinal: 0, providerCallId: "p", tool: "run_code", arguments: "{}", argumentsHash: "" },
  ...{ policyEffect: "allow", policyRule: "", allowedCommands: [], state: "SUCCEEDED", shown: "", spillPointer: "" },
  resultCharacters: 0,
};
const logOf = (...calls: Partial<ToolCallRecord>[]): TaskLog => ({
  steps: [],
  calls: calls.map((call) => ({ ...base, ...call })),
});
const search = { tool: "search_documents", shown: "OK: 1 passage\n[1] rules.md > Captures (characters 1 to 9)\nRule." };
const codes = (answer: string, log: TaskLog = logOf(), finish = "stop", prompt = "Look at /workspace/in.csv") =>
  verifyAnswer(answer, finish, { prompt, log, tools: ["run_code"] }).map((finding) => finding.code);

test.each([
  ["an answer", "All is well.", [], "stop"],
  ["nothing", " \n", ["EMPTY_ANSWER"], "stop"],
  ["a cut answer", "All is", ["CUT_ANSWER"], "length"],
])("%s", (_, answer, expected, finish) => expect(codes(answer, logOf(), finish)).toEqual(expected));

test.each([
  "<tool_call>{}</tool_call>",
  'So: <function_calls>\n<invoke name="x">',
  '<invoke name="run_code">',
  "<function=run_code>{}",
  "<|python_tag|>print(1)",
  "<｜tool▁calls▁begin｜>x",
  "[TOOL_CALLS] [{}]",
  "commentary to=functions.run_code {}",
  '{"name": "run_code", "arguments": {"code": "1"}}',
])("a tool call that is written out is found: %s", (markup) => {
  expect(codes(`${markup}`)).toEqual(["TOOL_CALL_IN_TEXT"]);
  expect(codes(`It says:\n\n\`\`\`xml\n${markup}\n\`\`\`\n\nand \`${markup.replaceAll("`", "")}\`.`)).toEqual([]);
});

test("JSON that is an answer is no call", () => expect(codes('{"name": "Ada", "arguments": 3}')).toEqual([]));

test("what an answer names must occur in the task", () => {
  const log = logOf({ shown: "added out/report.csv", spillPointer: "spill://c/1" }, search);
  expect(codes(`See /workspace/in.csv, /workspace/out/report.csv. spill://c/1 call ${callId}, [1]`, log)).toEqual([]);
  const other = callId.replace("0198", "0199");
  expect(codes(`spill://c/2. Call id: ${other} [2] [1](x) a[7]`, log)).toEqual([
    "UNKNOWN_CITATION",
    "UNKNOWN_POINTER",
    "UNKNOWN_CALL",
  ]);
  expect(codes("In /workspace/nowhere.txt.", logOf({ shown: "" }))).toEqual(["UNKNOWN_PATH"]);
  const partly = verifyAnswer("In /workspace/nowhere.txt.", "stop", { prompt: "", log, tools: [] });
  expect(partly).toEqual([{ code: "UNKNOWN_PATH", text: expect.stringContaining("nowhere"), blocking: false }]);
  expect(codes("The third is [3] of the list.")).toEqual([]);
});

test("an open call is a finding", () => expect(codes("Done.", logOf({ state: "DISPATCHED" }))).toEqual(["OPEN_CALL"]));

test("a citation is a passage's number or its document's name", () => {
  const log = logOf(search);
  expect([hasPassages(log), hasPassages(logOf())]).toEqual([true, false]);
  expect(["By [1].", "By rules.md.", "By [2].", "By nothing."].map((answer) => hasCitation(answer, log))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

test("only blocking findings are told to the model", () => {
  const findings = [
    { code: "A", text: "a", blocking: true },
    { code: "B", text: "b", blocking: false },
  ];
  const told = findingsRequest({ passed: false, verifier: "default", findings, reworks: 0 });
  expect(told).toContain("- A: a");
  expect(told).not.toContain("B: b");
});

test("code is taken out of any text, and text without code stays as it is", () => {
  expect(withoutCode("a `b` c ``d ` e`` f ` g\n~~~\nh\n~~~\ni")).toBe("a  c  f ` g\ni");
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("a", "`", "~", "\n", " ", "<") }), (text) => {
      const rest = withoutCode(text);
      expect(rest.length).toBeLessThanOrEqual(text.length);
      if (!text.includes("`") && !text.includes("~")) expect(rest).toBe(text);
    }),
  );
});
