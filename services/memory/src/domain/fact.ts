/** Whom a fact is about and shown to: everybody of a tenant, one person, or one person with one agent. */
export type FactScope = "tenant" | "user" | "agent";

/** Where a fact belongs. `subject` is empty for the tenant's, `agent` for all but scope `agent`. */
export interface FactPlace {
  readonly scope: FactScope;
  readonly subject: string;
  readonly agent: string;
}

/** One version of a fact. */
export interface Fact extends FactPlace {
  readonly id: string;
  /** The id of its first version. */
  readonly lineId: string;
  readonly text: string;
  /** 0 to 100. */
  readonly importance: number;
  readonly conversationId: string;
  readonly taskId: string;
  /** The message that says it. */
  readonly messageSequence: number;
  readonly validFrom: Date;
  /** Undefined while it holds. */
  readonly validTo: Date | undefined;
  readonly supersededBy: string | undefined;
}

/** Most characters of a fact: one statement, not a story. */
export const factCharacters = 500;

/** The words of a statement without case, spacing and the full stop: what makes two of them the same. */
export function sameWords(text: string): string {
  return text.normalize("NFKC").toLowerCase().replaceAll(/\s+/g, " ").trim().replace(/[.!]$/, "");
}
