import type { LinearPatterns } from "../application/decision-ports.ts";
import type { Verifier } from "../domain/agent.ts";
import type { VerificationFinding } from "../domain/task.ts";

type Rules = Verifier & { readonly kind: "rules" };

/** What of a text breaks the rules. Takes time linear in the text. */
export function ruleFindings(rules: Rules, answer: string, patterns: LinearPatterns): readonly VerificationFinding[] {
  const { minCharacters, maxCharacters } = rules;
  const length = [...answer].length;
  return [
    ...rules.mustContain
      .filter((text) => !answer.includes(text))
      .map((text) => finding("MUST_CONTAIN", `The answer does not contain ${JSON.stringify(text)}.`)),
    ...rules.mustNotContain
      .filter((text) => answer.includes(text))
      .map((text) => finding("MUST_NOT_CONTAIN", `The answer contains ${JSON.stringify(text)}.`)),
    ...rules.mustMatch
      .filter((pattern) => !patterns.matches(pattern, answer))
      .map((pattern) => finding("MUST_MATCH", `The answer does not match ${pattern}.`)),
    ...(length < minCharacters
      ? [finding("TOO_SHORT", `The answer has ${length} characters; at least ${minCharacters} are asked for.`)]
      : []),
    ...(maxCharacters > 0 && length > maxCharacters
      ? [finding("TOO_LONG", `The answer has ${length} characters; at most ${maxCharacters} are allowed.`)]
      : []),
  ];
}

function finding(code: string, text: string): VerificationFinding {
  return { code, text, blocking: true };
}
