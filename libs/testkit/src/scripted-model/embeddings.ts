import { hashVector } from "@drover/model";
import { countTokens } from "@drover/model/tokens";
import { badRequest, isRecord, type WireError } from "./wire-error.ts";

const dimensions = 512;
const maxInputs = 2_048;

/** The answer of the embeddings endpoint, made by the hash embedder, or the reason to refuse the request. */
export function embeddingsAnswer(body: unknown): { readonly json: string } | { readonly error: WireError } {
  if (!isRecord(body)) return { error: badRequest("", "We could not parse the JSON body of your request.", null) };
  const { model, input, encoding_format: format = "float", dimensions: wanted = dimensions } = body;
  const texts = typeof input === "string" ? [input] : input;
  if (typeof model !== "string" || model === "")
    return { error: badRequest("model", "you must provide a model parameter") };
  if (!isInput(texts)) {
    return { error: badRequest("input", `'input' must be 1 to ${maxInputs} texts, none of them empty.`) };
  }
  if (wanted !== dimensions) return { error: badRequest("dimensions", `This model has ${dimensions} dimensions.`) };
  if (format !== "float" && format !== "base64")
    return { error: badRequest("encoding_format", "Invalid 'encoding_format'.") };
  const data = texts.map((text, index) => ({
    object: "embedding",
    index,
    embedding: format === "float" ? hashVector(text) : base64(hashVector(text)),
  }));
  const tokens = texts.reduce((sum, text) => sum + countTokens(text), 0);
  return {
    json: JSON.stringify({ object: "list", model, data, usage: { prompt_tokens: tokens, total_tokens: tokens } }),
  };
}

function isInput(texts: unknown): texts is readonly string[] {
  if (!Array.isArray(texts) || texts.length === 0 || texts.length > maxInputs) return false;
  return texts.every((text) => typeof text === "string" && text !== "");
}

function base64(vector: readonly number[]): string {
  return Buffer.from(new Float32Array(vector).buffer).toString("base64");
}
