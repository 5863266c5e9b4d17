import { checkMessages } from "./message-check.ts";
import { checkTools } from "./tool-check.ts";
import { badRequest, isRecord, type WireError } from "./wire-error.ts";

type Body = Readonly<Record<string, unknown>>;

const known: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "stream",
  "stream_options",
  "temperature",
  "top_p",
  "max_tokens",
  "max_completion_tokens",
  "n",
  "stop",
  "seed",
  "user",
  "metadata",
  "store",
  "response_format",
  "presence_penalty",
  "frequency_penalty",
  "logprobs",
  "top_logprobs",
  "reasoning_effort",
  "service_tier",
  "prompt_cache_key",
  "safety_identifier",
]);

/** The first reason to refuse a chat completion request; undefined for a good one. */
export function checkRequest(body: unknown): WireError | undefined {
  if (!isRecord(body)) return badRequest("", "We could not parse the JSON body of your request.", null);
  const unknownName = Object.keys(body).find((name) => !known.has(name));
  if (unknownName !== undefined) {
    return badRequest(unknownName, `Unrecognized request argument supplied: ${unknownName}`, "unknown_parameter");
  }
  if (typeof body.model !== "string" || body.model === "") {
    return badRequest("model", "you must provide a model parameter", null);
  }
  return checkMessages(body.messages) ?? checkTools(body.tools) ?? checkToolChoice(body) ?? checkSettings(body);
}

function checkToolChoice(body: Body): WireError | undefined {
  const choice = body.tool_choice;
  if (choice === undefined) return undefined;
  if (body.tools === undefined) {
    return badRequest("tool_choice", "'tool_choice' is only allowed when 'tools' are specified.", null);
  }
  const isKnown = choice === "none" || choice === "auto" || choice === "required" || isRecord(choice);
  return isKnown ? undefined : badRequest("tool_choice", `Invalid value: ${JSON.stringify(choice)}.`);
}

function checkSettings(body: Body): WireError | undefined {
  const { stream, stream_options: options, temperature, n } = body;
  if (stream !== undefined && typeof stream !== "boolean") return badRequest("stream", "Invalid type for 'stream'.");
  if (options !== undefined && stream !== true) {
    return badRequest(
      "stream_options",
      "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
      null,
    );
  }
  if (temperature !== undefined && !(typeof temperature === "number" && temperature >= 0 && temperature <= 2)) {
    return badRequest("temperature", "Invalid 'temperature': expected a number from 0 to 2.");
  }
  if (n !== undefined && n !== 1) return badRequest("n", "Only one choice can be generated.");
  for (const name of ["max_tokens", "max_completion_tokens"]) {
    const value = body[name];
    if (value !== undefined && !(Number.isSafeInteger(value) && Number(value) > 0)) {
      return badRequest(name, `Invalid '${name}': expected a positive integer.`);
    }
  }
  return undefined;
}
