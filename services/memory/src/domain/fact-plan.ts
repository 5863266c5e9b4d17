import type { FactChange } from "./extraction-answer.ts";
import { type Fact, type FactPlace, sameWords } from "./fact.ts";

/** A version to be written. */
export interface NewFact extends FactPlace {
  readonly text: string;
  readonly importance: number;
  readonly messageSequence: number;
  /** The version that it takes the place of. */
  readonly replaces: Fact | undefined;
}

/** How many statements became what. */
export interface FactCounts {
  readonly added: number;
  readonly updated: number;
  readonly ended: number;
  readonly unchanged: number;
  readonly refused: number;
}

/** What is to be written, and what holds no longer. */
export interface FactPlan {
  readonly write: readonly NewFact[];
  readonly end: readonly Fact[];
  readonly counts: FactCounts;
}

/** What a plan is made within. */
export interface FactRules {
  readonly subject: string;
  readonly agent: string;
  /** Facts of one place that may hold at the same time. */
  readonly most: number;
  /** Statements of less importance are refused. */
  readonly floor: number;
  /** True for words that hold a secret. */
  readonly secret: (text: string) => boolean;
  /** True for words that their person has forgotten. */
  readonly forgotten: (place: FactPlace, text: string) => boolean;
}

/**
 * What the changes that a model asks for come to, given what holds now. The same words twice are one fact. A fact
 * that has ended since the question was asked is not changed. Nothing is thrown away for the cap: what is beyond it is
 * refused.
 */
export function planFacts(
  changes: readonly FactChange[],
  known: readonly (Fact | undefined)[],
  holding: readonly Fact[],
  rules: FactRules,
): FactPlan {
  const state = new Planning(holding, rules);
  for (const change of changes) {
    const old = change.op === "add" ? undefined : known[change.known];
    if (change.op === "add") state.count(state.add(change));
    else if (old === undefined || change.op === "none") state.count("unchanged");
    else if (change.op === "delete") state.count(state.close(old));
    else state.count(state.replace(old, change));
  }
  return state.plan();
}

interface Statement {
  readonly text: string;
  readonly importance: number;
  readonly source: number;
}

class Planning {
  readonly #rules: FactRules;
  readonly #words = new Map<string, number>();
  readonly #held = new Map<string, number>();
  readonly #write: NewFact[] = [];
  readonly #end: Fact[] = [];
  readonly #counts = { added: 0, updated: 0, ended: 0, unchanged: 0, refused: 0 };

  constructor(holding: readonly Fact[], rules: FactRules) {
    this.#rules = rules;
    for (const fact of holding) this.#hold(fact, fact.text, 1);
  }

  count(what: keyof FactCounts): void {
    this.#counts[what]++;
  }

  add({ scope, ...statement }: Statement & { readonly scope: "user" | "agent" }): keyof FactCounts {
    const { subject, agent } = this.#rules;
    const place = { scope, subject, agent: scope === "agent" ? agent : "" };
    if (this.#refuses(place, statement)) return "refused";
    if (this.#holds(place, statement.text)) return "unchanged";
    if ((this.#held.get(placeKey(place)) ?? 0) >= this.#rules.most) return "refused";
    this.#put(place, statement, undefined);
    return "added";
  }

  replace(old: Fact, statement: Statement): keyof FactCounts {
    if (this.#refuses(old, statement)) return "refused";
    if (this.#holds(old, statement.text)) return "unchanged";
    this.#hold(old, old.text, -1);
    this.#end.push(old);
    const { scope, subject, agent } = old;
    this.#put({ scope, subject, agent }, statement, old);
    return "updated";
  }

  close(old: Fact): keyof FactCounts {
    this.#hold(old, old.text, -1);
    this.#end.push(old);
    return "ended";
  }

  plan(): FactPlan {
    return { write: this.#write, end: this.#end, counts: this.#counts };
  }

  #put(place: FactPlace, { text, importance, source }: Statement, replaces: Fact | undefined): void {
    this.#hold(place, text, 1);
    this.#write.push({ ...place, text, importance, messageSequence: source, replaces });
  }

  #refuses(place: FactPlace, { text, importance }: Statement): boolean {
    const { floor, secret, forgotten } = this.#rules;
    return importance < floor || secret(text) || forgotten(place, text);
  }

  #holds(place: FactPlace, text: string): boolean {
    return (this.#words.get(wordKey(place, text)) ?? 0) > 0;
  }

  #hold(place: FactPlace, text: string, by: number): void {
    const words = wordKey(place, text);
    this.#words.set(words, (this.#words.get(words) ?? 0) + by);
    this.#held.set(placeKey(place), (this.#held.get(placeKey(place)) ?? 0) + by);
  }
}

function placeKey({ scope, agent }: FactPlace): string {
  return `${scope}/${agent}`;
}

function wordKey(place: FactPlace, text: string): string {
  return `${placeKey(place)}/${sameWords(text)}`;
}
