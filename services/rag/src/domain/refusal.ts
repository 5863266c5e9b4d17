/** One check of an upload that failed. An expected outcome, never thrown. */
export interface Refusal {
  readonly check: "name" | "extension" | "size" | "encoding" | "content" | "empty";
  readonly found: string;
  readonly allowed: string;
}

/** True for a refusal among other outcomes. */
export function isRefusal(outcome: object): outcome is Refusal {
  return "check" in outcome;
}
