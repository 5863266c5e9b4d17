import { throwIfAborted } from "@drover/kernel";
import type { Embedder } from "./embedder.ts";

const dimensions = 512;

/** Letters with their marks, or digits: the words of any script. */
const words = /[\p{L}\p{M}]+|\p{N}+/gu;
/** Scripts written without spaces, where single characters and pairs carry what words carry elsewhere. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;

/** Weights of the features by script; chosen so that whole words outweigh the letters they share. */
const spacedWeights = { word: 3, grams: [0.05, 0.25, 1] } as const;
const unspacedWeights = { word: 0, grams: [1, 2, 1] } as const;

/**
 * An embedder that needs no model: words and character 1- to 3-grams hashed into 512 dimensions with
 * a sign (the hashing trick of Weinberger et al., 2009), damped by the square root of their count and
 * scaled to unit length. Deterministic and language-independent; it finds shared words and word parts,
 * not meaning. A text without letters or digits maps to a fixed unit vector.
 */
export function createHashEmbedder(): Embedder {
  return {
    id: `hash-${dimensions}`,
    dimensions,
    maxBatch: 256,
    async embed(texts, _kind, signal) {
      throwIfAborted(signal);
      return texts.map(hashVector);
    },
  };
}

/** The vector of one text; see {@link createHashEmbedder}. */
export function hashVector(text: string): number[] {
  const counts = new Map<string, number>();
  for (const [word] of text.normalize("NFKC").toLowerCase().matchAll(words)) addFeatures(word, counts);
  const vector = new Array<number>(dimensions).fill(0);
  for (const [feature, weight] of counts) {
    const hash = hashOf(feature);
    const at = (hash >>> 1) % dimensions;
    vector[at] = (vector[at] ?? 0) + Math.sqrt(weight) * (hash & 1 ? 1 : -1);
  }
  return unit(vector);
}

function addFeatures(word: string, counts: Map<string, number>): void {
  const weights = unspaced.test(word) ? unspacedWeights : spacedWeights;
  const add = (feature: string, weight: number) => {
    if (weight > 0) counts.set(feature, (counts.get(feature) ?? 0) + weight);
  };
  add(`w${word}`, weights.word);
  const characters = [...word];
  for (const [extra, weight] of weights.grams.entries()) {
    for (let start = 0; start + extra < characters.length; start++) {
      add(`g${characters.slice(start, start + extra + 1).join("")}`, weight);
    }
  }
}

/** 32-bit FNV-1a over UTF-16 units, then the finaliser of MurmurHash3 so that low bits are mixed. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function unit(vector: number[]): number[] {
  const length = Math.hypot(...vector);
  if (length === 0) return vector.map((_, index) => (index === 0 ? 1 : 0));
  return vector.map((value) => value / length);
}
