/** Scripts written without spaces between words, and Hangul, whose words carry endings. */
const unspacedRun = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}ー々]+/gu;
const spacedWord = /[\p{L}\p{M}\p{N}]+/gu;
/** Postgres takes lexemes up to 2,046 bytes; nobody searches for the end of a longer word. */
const maxWordCharacters = 64;
/** Terms of a query beyond this are left out: they are a pasted text, and its beginning says what it is about. */
const maxQueryTerms = 200;

/** The terms of a text for the two dictionaries: words to be stemmed, grams to be taken as they are. */
export interface LexicalTerms {
  readonly words: readonly string[];
  readonly grams: readonly string[];
}

/** Terms to index, in order and with repetitions: words, and pairs and single characters of unspaced scripts. */
export function indexTerms(text: string): LexicalTerms {
  return termsOf(text, (run) => [...run, ...pairs(run)]);
}

/** Terms to search for, each once: single characters count only where they stand alone. */
export function queryTerms(text: string): LexicalTerms {
  const terms = termsOf(text, (run) => (run.length === 1 ? run : pairs(run)));
  const words = [...new Set(terms.words)].slice(0, maxQueryTerms);
  return { words, grams: [...new Set(terms.grams)].slice(0, maxQueryTerms) };
}

function termsOf(text: string, gramsOf: (run: readonly string[]) => readonly string[]): LexicalTerms {
  const plain = text.normalize("NFKC").toLowerCase();
  const grams: string[] = [];
  const spaced = plain.replaceAll(unspacedRun, (run) => {
    grams.push(...gramsOf([...run]));
    return " ";
  });
  const words = Array.from(spaced.matchAll(spacedWord), ([word]) => [...word].slice(0, maxWordCharacters).join(""));
  return { words, grams };
}

function pairs(characters: readonly string[]): string[] {
  return characters.slice(1).map((second, index) => `${characters[index]}${second}`);
}
