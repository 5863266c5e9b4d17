import { headOf } from "@drover/kernel";
import { type ToolResult, toolFailure } from "../domain/tool-result.ts";
import type { SourceContent, SourceResult } from "./tool-source-ports.ts";

/** What a source gave back as the result of a tool. What is not text is named; structured content stands for missing text. */
export function resultOfSource(tool: string, result: SourceResult): ToolResult {
  if (result.outcome === "unknown") {
    const summary = `The call of ${tool} broke off, and whether it did its work is not known: ${result.why}`;
    return toolFailure("OUTCOME_UNKNOWN", summary);
  }
  const { isError, content, structured, errorCode = "TOOL_FAILED", retryable = false } = result;
  const parts = content.map(textOf).filter((part) => part !== "");
  if (parts.length === 0 && structured !== undefined) parts.push(JSON.stringify(structured));
  const text = parts.join("\n");
  const summary = result.summary || headOf(text.split("\n", 1)[0] ?? "", 200) || (isError ? "it failed" : "done");
  if (isError) return toolFailure(errorCode, summary, text === summary ? "" : text, retryable);
  return { ok: true, errorCode: "", summary, text: text === summary ? "" : text, artifacts: [], retryable: false };
}

function textOf(part: SourceContent): string {
  return part.kind === "text" ? part.text : `[${part.mediaType}, ${part.bytes} bytes: not shown]`;
}
