import fc from "fast-check";
import { expect, test } from "vitest";
import { families } from "./families.ts";
import { MarkupFilter } from "./markup-filter.ts";

const offered = new Set(["look", "get-order"]);
const look = { name: "look", args: { path: "a b", n: 1 } };
const texts = { name: "look", args: { path: "a b", n: "1" } };
const order = { name: "get-order", args: {} };

const table: readonly (readonly [family: string, text: string, calls: readonly unknown[]])[] = [
  ["hermes, qwen, glm", '<tool_call>\n{"name":"look","arguments":{"path":"a b","n":1}}\n</tool_call>', [look]],
  [
    "hermes, qwen, glm",
    '<tool_call>{"name":"look","arguments":"{\\"path\\":\\"a b\\",\\"n\\":1}"}</tool_call>',
    [look],
  ],
  [
    "hermes, qwen, glm",
    "<tool_call><function=look><parameter=path>\na b\n</parameter><parameter=n>1</parameter></function></tool_call>",
    [texts],
  ],
  [
    "hermes, qwen, glm",
    "<tool_call>look\n<arg_key>path</arg_key>\n<arg_value>a b</arg_value>\n<arg_key>n</arg_key><arg_value>1</arg_value>\n</tool_call>",
    [texts],
  ],
  ["hermes, qwen, glm", "<tool_call>get-order</tool_call>", [order]],
  [
    "qwen-coder, llama",
    "<function=look>\n<parameter=path>\na b\n</parameter>\n<parameter=n>\n1\n</parameter>\n</function>",
    [texts],
  ],
  ["qwen-coder, llama", '<function=look>{"path":"a b","n":1}</function>', [look]],
  [
    "claude",
    '<function_calls>\n<invoke name="look">\n<parameter name="path">a b</parameter>\n<parameter name="n">1</parameter>\n</invoke>\n<invoke name="get-order">\n</invoke>\n</function_calls>',
    [texts, order],
  ],
  [
    "minimax-m1, others",
    '<tool_calls>\n{"name":"look","arguments":{"path":"a b","n":1}}\n{"name":"get-order","arguments":{}}\n</tool_calls>',
    [look, order],
  ],
  ["minimax-m1, others", '<tool_calls>[{"name":"look","arguments":{"path":"a b","n":1}}]</tool_calls>', [look]],
  [
    "minimax-m2",
    "<minimax:tool_call><invoke name=look><parameter name='path'>a b</parameter><parameter name=\"n\">1</parameter></invoke></minimax:tool_call>",
    [texts],
  ],
  [
    "deepseek-v3",
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>look\n```json\n{"path":"a b","n":1}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    [look],
  ],
  [
    "deepseek-v3",
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>look<｜tool▁sep｜>{"path":"a b","n":1}<｜tool▁call▁end｜><｜tool▁call▁begin｜>get-order<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    [look, order],
  ],
  [
    "deepseek tool_calls",
    '<｜DSML｜tool_calls><｜DSML｜invoke name="look"><｜DSML｜parameter name="path" string="true">a b</｜DSML｜parameter><｜DSML｜parameter name="n" string="false">1</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜tool_calls>',
    [texts],
  ],
  [
    "deepseek function_calls",
    '<｜DSML｜function_calls><｜DSML｜invoke name="get-order"></｜DSML｜invoke></｜DSML｜function_calls>',
    [order],
  ],
  [
    "kimi-k2",
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0<|tool_call_argument_begin|>{"path":"a b","n":1}<|tool_call_end|><|tool_call_begin|>get-order:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>',
    [look, order],
  ],
  ["llama-3", '<|python_tag|>{"name":"look","parameters":{"path":"a b","n":1}}', [look]],
  [
    "llama-3",
    '<|python_tag|>{"name":"look","parameters":{"path":"a b","n":1}}; {"name":"get-order","parameters":{}}',
    [look, order],
  ],
  [
    "mistral",
    '[TOOL_CALLS][{"name":"look","arguments":{"path":"a b","n":1}},{"name":"get-order","arguments":{}}]',
    [look, order],
  ],
  ["mistral", '[TOOL_CALLS]look{"path":"a b","n":1}[TOOL_CALLS]get-order{}', [look, order]],
  ["mistral", '[TOOL_CALLS]look[CALL_ID]abc123xyz[ARGS]{"path":"a b","n":1}', [look]],
];

function filtered(text: string, cuts: readonly number[] = [], tools: ReadonlySet<string> = offered) {
  const filter = new MarkupFilter(tools);
  const places = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];
  const passed = places.slice(1).map((end, i) => filter.push(text.slice(places[i], end)));
  const end = filter.finish();
  return { ...end, text: passed.join("") + end.text, passed: passed.join("") };
}

test.each(table)("%s: %s", (_family, text, calls) => {
  expect(filtered(`Before. ${text}\nAfter.`)).toMatchObject({ text: "Before. \nAfter.", calls, stripped: [] });
});

test("every family has its case", () => {
  expect(new Set(table.map(([family]) => family))).toEqual(new Set(families.map(({ name }) => name)));
});

test.each(table)("%s stays in code, without tools, and goes for a tool that is not there: %s", (_family, text) => {
  const line = text.replaceAll("\n", "").replaceAll("`", "");
  for (const kept of [
    `Write \`${line}\`.`,
    `Write \`\` ${line} \`\`.`,
    `A \`\`\`\`b \` ${line}\`\`\`\` c`,
    `A \`b\` and \`${line}\`.`,
    `So:\n\`\`\`\n${text.replaceAll("```", "")}\n\`\`\`\n`,
    `~~~\n${line}`,
  ]) {
    expect(filtered(kept)).toMatchObject({ text: kept, calls: [], stripped: [] });
  }
  expect(filtered(text, [], new Set())).toMatchObject({ text, calls: [] });
  const gone = filtered(`a${text}b`, [], new Set(["other"]));
  expect([gone.text, gone.calls, gone.stripped.length > 0]).toEqual(["ab", [], true]);
});

test.each([
  ["an opener alone", "Use <tool_call> for that."],
  ["an opener at the end", "Use <tool_call>"],
  ["the beginning of one", "a <tool_ca"],
  ["no call inside", "<tool_call>one two</tool_call>"],
  ["a broken one", '<tool_call>{"name":"look","arguments":{</tool_call>'],
  ["arguments that are no object", '<tool_call>{"name":"look","arguments":[1]}</tool_call>'],
  ["words between the calls", '<function_calls>x<invoke name="look"></invoke></function_calls>'],
  ["an opener in an opener", "<tool_call><tool_call>"],
  ["signs of other things", "a < b [1] <|x|> <b>c</b> [TOOL] ｜"],
  ["JSON of another kind", '[TOOL_CALLS]{"a":1}'],
])("%s stays text", (_name, text) => {
  expect(filtered(text)).toMatchObject({ text, calls: [], stripped: [] });
});

const pieces = [...table.map(([, text]) => text), ...families.flatMap(({ open, close }) => [open, close ?? "{}"])];
const mixed = fc
  .array(
    fc.oneof(fc.constantFrom(...pieces, "`", "```\n", "\n", "<", "[", '{"', "; {", " "), fc.string({ maxLength: 5 })),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(""));

test("however a text is cut, the result is the same, and what was passed on is its beginning", () => {
  fc.assert(
    fc.property(mixed, fc.array(fc.nat(400)), (text, cuts) => {
      const { passed, ...parts } = filtered(text, cuts);
      const { passed: _, ...whole } = filtered(text);
      expect(parts).toEqual(whole);
      expect(parts.text.startsWith(passed)).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test("a span that is closed, and one that the line ends, are over", () => {
  const call = '<tool_call>{"name":"look","arguments":{}}</tool_call>';
  for (const before of ["`a` ", "``a ` b`` ", "a ` b\n", "``\n", "```\ncode\n```\n"]) {
    expect(filtered(`${before}${call}`)).toMatchObject({ text: before, calls: [{ name: "look" }] });
  }
});

test("a text without an opener passes unchanged", () => {
  const plain = fc.string({ unit: "binary" }).filter((text) => !families.some(({ open }) => text.includes(open)));
  fc.assert(
    fc.property(plain, fc.array(fc.nat(50)), (text, cuts) => {
      expect(filtered(text, cuts)).toMatchObject({ text, calls: [], stripped: [] });
    }),
  );
});

test("no more than so much is held back, and openers without end are text", () => {
  const long = `<tool_call>${"x".repeat(70_000)}`;
  const filter = new MarkupFilter(offered);
  expect(filter.push(long)).toBe(long);
  const hostile = "<tool_call>[TOOL_CALLS][<function=<|python_tag|>{".repeat(20_000);
  expect(filtered(hostile)).toMatchObject({ text: hostile, calls: [] });
});
