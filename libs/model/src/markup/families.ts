import { allOf, between, type Family, isName, jsonCalls, namedCall, type WrittenCall } from "./family.ts";

/** `<parameter=k>v</parameter>` between `<function=n>` and its end: Qwen3-Coder and others; some put JSON there. */
function functionCall(name: string, body: string): readonly WrittenCall[] | undefined {
  if (!body.includes("<parameter=")) return namedCall(name, body.trim() === "" ? "{}" : body);
  const pairs = between(body, "<parameter=", "</parameter>")?.map((part) => {
    const end = part.indexOf(">");
    return end < 0 ? undefined : ([part.slice(0, end), withoutBreaks(part.slice(end + 1))] as const);
  });
  return argsOf(name, pairs);
}

/** `<invoke name="n"><parameter name="k">v</parameter></invoke>`: Claude, MiniMax, DeepSeek V3.2 with a mark in the tags. */
function invokedCalls(body: string, mark = ""): readonly WrittenCall[] | undefined {
  const invokes = between(body, `<${mark}invoke name=`, `</${mark}invoke>`);
  return invokes === undefined ? undefined : allOf(invokes.map((invoke) => invokedCall(invoke, mark)));
}

function invokedCall(text: string, mark: string): WrittenCall | undefined {
  const tag = nameOf(text);
  if (tag === undefined) return undefined;
  const pairs = between(tag.rest, `<${mark}parameter name=`, `</${mark}parameter>`)?.map((part) => {
    const parameter = nameOf(part);
    return parameter === undefined ? undefined : ([parameter.name, withoutBreaks(parameter.rest)] as const);
  });
  return argsOf(tag.name, pairs)?.[0];
}

/** The name that a tag gives, in quotes or without, and what stands behind the tag. */
function nameOf(text: string): { readonly name: string; readonly rest: string } | undefined {
  const end = text.indexOf(">");
  const found = /^(?:"([^"]{1,128})"|'([^']{1,128})'|([^\s"']{1,128}))/.exec(text.slice(0, Math.max(0, end)));
  const name = found?.[1] ?? found?.[2] ?? found?.[3];
  return name === undefined ? undefined : { name, rest: text.slice(end + 1) };
}

/** `n`, then keys and values in turns: GLM. */
function keyedCall(body: string): readonly WrittenCall[] | undefined {
  const first = body.indexOf("<arg_key>");
  const name = (first < 0 ? body : body.slice(0, first)).trim();
  const parts = first < 0 ? [] : between(body.slice(first), "<arg_key>", "</arg_value>");
  const pairs = parts?.map((part) => {
    const [key, value, ...more] = part.split(/<\/arg_key>\s*<arg_value>/);
    return key === undefined || value === undefined || more.length > 0 ? undefined : ([key.trim(), value] as const);
  });
  return argsOf(name, pairs);
}

function argsOf(
  name: string,
  pairs: readonly (readonly [string, string] | undefined)[] | undefined,
): readonly WrittenCall[] | undefined {
  if (!isName(name) || pairs?.every((pair) => pair !== undefined) !== true) return undefined;
  return [{ name, args: Object.fromEntries(pairs) }];
}

/** One line break at either end belongs to the markup. */
function withoutBreaks(text: string): string {
  return text.replace(/^\n/, "").replace(/\n$/, "");
}

function toolCall(body: string): readonly WrittenCall[] | undefined {
  const text = body.trim();
  if (text.startsWith("{") || text.startsWith("[")) return jsonCalls(text);
  if (!text.startsWith("<function=")) return keyedCall(text);
  const end = text.indexOf(">");
  const rest = text.slice(end + 1).trimEnd();
  const inner = rest.endsWith("</function>") ? rest.slice(0, -"</function>".length) : rest;
  return end < 0 ? undefined : functionCall(text.slice("<function=".length, end), inner);
}

function deepSeekCalls(body: string): readonly WrittenCall[] | undefined {
  const calls = between(body, "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>")?.map((text) => {
    const [kind = "", ...rest] = text.split("<｜tool▁sep｜>");
    const behind = rest.join("<｜tool▁sep｜>");
    const line = behind.indexOf("\n");
    // V3 and R1 name the kind first, and the tool on a line of its own; V3.1 the tool at once.
    return kind.trim() === "function" && line >= 0
      ? namedCall(behind.slice(0, line).trim(), behind.slice(line + 1))?.[0]
      : namedCall(kind.trim(), behind)?.[0];
  });
  return calls === undefined ? undefined : allOf(calls);
}

function kimiCalls(body: string): readonly WrittenCall[] | undefined {
  const calls = between(body, "<|tool_call_begin|>", "<|tool_call_end|>")?.map((text) => {
    const [id = "", ...rest] = text.split("<|tool_call_argument_begin|>");
    const name = id
      .trim()
      .replace(/^functions\./, "")
      .replace(/:\d+$/, "");
    return namedCall(name, rest.join(""))?.[0];
  });
  return calls === undefined ? undefined : allOf(calls);
}

function mistralCall(body: string): readonly WrittenCall[] | undefined {
  const text = body.trim();
  if (text.startsWith("[")) return jsonCalls(text);
  const found = /^([A-Za-z0-9_.-]{1,128})(?:\[CALL_ID\][A-Za-z0-9]{1,64})?(?:\[ARGS\])?\s*(?=\{)/.exec(text);
  return found?.[1] === undefined ? undefined : namedCall(found[1], text.slice(found[0].length));
}

/** `<function=n>` on its own: what follows the mark up to `>` is the name. */
function loneFunction(body: string): readonly WrittenCall[] | undefined {
  const end = body.indexOf(">");
  return end < 0 ? undefined : functionCall(body.slice(0, end), body.slice(end + 1));
}

const dsml = "｜DSML｜";

/**
 * The forms that are known, as their makers' templates and the parsers of inference servers have them. New ones appear
 * often: each is a row here and one in the test.
 */
export const families: readonly Family[] = [
  { name: "hermes, qwen, glm", open: "<tool_call>", close: "</tool_call>", parse: toolCall },
  { name: "qwen-coder, llama", open: "<function=", close: "</function>", parse: loneFunction },
  { name: "claude", open: "<function_calls>", close: "</function_calls>", parse: (body) => invokedCalls(body) },
  {
    ...{ name: "minimax-m1, others", open: "<tool_calls>", close: "</tool_calls>" },
    parse: (body) => jsonCalls(body) ?? invokedCalls(body),
  },
  {
    name: "minimax-m2",
    open: "<minimax:tool_call>",
    close: "</minimax:tool_call>",
    parse: (body) => invokedCalls(body),
  },
  { name: "deepseek-v3", open: "<｜tool▁calls▁begin｜>", close: "<｜tool▁calls▁end｜>", parse: deepSeekCalls },
  ...["tool_calls", "function_calls"].map((kind) => ({
    ...{ name: `deepseek ${kind}`, open: `<${dsml}${kind}>`, close: `</${dsml}${kind}>` },
    parse: (body: string) => invokedCalls(body, dsml),
  })),
  {
    ...{ name: "kimi-k2", open: "<|tool_calls_section_begin|>", close: "<|tool_calls_section_end|>" },
    parse: kimiCalls,
  },
  { name: "llama-3", open: "<|python_tag|>", parse: jsonCalls },
  { name: "mistral", open: "[TOOL_CALLS]", parse: mistralCall },
];
