import { type Rule, shapeRule } from "./rule.ts";

// Each pattern begins with a look-behind, so that a run of token characters is entered once only: that
// is what keeps the open-ended repetitions linear.
const start = "(?<![A-Za-z0-9_-])";

const token = (kind: string, body: string, accept?: (secret: string) => boolean): Rule =>
  shapeRule(kind, new RegExp(start + body, "g"), accept);

const hasDigit = (text: string) => /[0-9]/.test(text);
const looksRandom = (text: string) => hasDigit(text) && (/[A-Z]/.test(text) || text.length >= 32);

/**
 * Credentials with a prefix of their own, by the shapes their providers publish (GitHub, Slack, npm,
 * Hugging Face, Anthropic, OpenAI, Google, Stripe, AWS, GitLab) and JWTs (RFC 7519).
 */
export const tokenShapes: readonly Rule[] = [
  token("aws-access-key", "(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
  token("github-token", "gh[pousr]_[A-Za-z0-9]{20,}"),
  token("github-token", "github_pat_[A-Za-z0-9_]{20,}"),
  token("gitlab-token", "glpat-[A-Za-z0-9_-]{20,}"),
  token("slack-token", "(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}", hasDigit),
  shapeRule("slack-webhook", /(?<=hooks\.slack\.com\/services\/)[A-Za-z0-9/]{20,}/g),
  token("npm-token", "npm_[A-Za-z0-9]{30,}"),
  token("huggingface-token", "hf_[A-Za-z0-9]{30,}"),
  token("anthropic-key", "sk-ant-[A-Za-z0-9_-]{16,}"),
  token("api-key", "sk-[A-Za-z0-9_-]{20,}", looksRandom),
  token("google-api-key", "AIza[A-Za-z0-9_-]{35}"),
  token("stripe-key", "(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}"),
  token("stripe-key", "whsec_[A-Za-z0-9+/=]{16,}"),
  token("jwt", "eyJ[A-Za-z0-9_-]{5,}\\.eyJ[A-Za-z0-9_-]{5,}\\.[A-Za-z0-9_-]*"),
];
