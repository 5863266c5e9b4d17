/** Words of those who limit how fast one asks; they speak of tokens too. */
const throttling: readonly RegExp[] = [
  /too many (?:tokens|requests)/i,
  /rate.?limit/i,
  /tokens? per (?:second|minute|hour|day)/i,
  /\b(?:TPM|RPM|TPD|RPD)\b/,
  /(?:try again|retry|wait).{0,40}(?:second|minute|later)/i,
  /throttl/i,
];

/** Words for a prompt that is longer than the model takes, as endpoints and proxies say them. */
const overflow: readonly RegExp[] = [
  // OpenAI, vLLM, DeepSeek, Mistral, LiteLLM.
  /maximum context length/i,
  // SGLang.
  /model's maximum context/i,
  // llama.cpp, Ollama, LM Studio.
  /context (?:length|window|size|limit) (?:is |was |has been )?(?:exceeded|overflow|reached|too small)/i,
  /exceed(?:s|ed|ing)? (?:the |this model's |its )?(?:available |maximum |allowed |max )?(?:context|number of input tokens|input (?:token|length))/i,
  /(?:larger|longer|greater) than (?:the |its )?(?:maximum |available )?context/i,
  // DashScope, Qwen.
  /range of input length should be/i,
  /maximum (?:allowed )?input (?:length|tokens)/i,
  // Anthropic and those who speak like it.
  /(?:prompt|input|request) (?:is|was) too (?:long|large)/i,
  /input length and .?max_tokens.? exceed/i,
  // Gemini.
  /input token count .{0,40}exceeds/i,
  // TGI, ExLlama.
  /requested token count exceeds/i,
  /(?:prompt|input) tokens? .{0,60}exceeds? .{0,40}(?:cache|context|limit of the model)/i,
  /reduce the length of the (?:messages|prompt)/i,
];

/**
 * True for an answer that means that the prompt is too long for the model: by its code, else by its words, unless they
 * are of one who limits the rate.
 */
export function isContextOverflow(error: { readonly code?: unknown; readonly message: string }): boolean {
  if (error.code === "context_length_exceeded") return true;
  const words = error.message.slice(0, mostCharacters);
  return !throttling.some((form) => form.test(words)) && overflow.some((form) => form.test(words));
}

/** Some proxies repeat the whole prompt in their answer. */
const mostCharacters = 4_000;
