import { ConfigurationError } from "@drover/runtime";
import { expect, it } from "vitest";
import { readConfig } from "./config.ts";

const required = { DATABASE_URL: "postgres://x", DROVER_IDENTITY_PUBLIC_KEYS: "{}" };

it("lets vectors of a trained model weigh as much as words, and those of the hash embedder nearly nothing", () => {
  expect(readConfig(required)).toMatchObject({ embedding: undefined, weights: { lexical: 1, vector: 0.01 } });
  const withModel = readConfig({ ...required, EMBEDDING_MODEL: "m", EMBEDDING_DIMENSIONS: "64" });
  expect(withModel).toMatchObject({ embedding: { model: "m", dimensions: 64 }, weights: { lexical: 1, vector: 1 } });
  expect(readConfig({ ...required, RAG_VECTOR_WEIGHT_PERCENT: "0" }).weights.vector).toBe(0);
});

it("lists every fault by name and never by value", () => {
  const wrong = { ...required, RAG_MAX_CHUNKS: "none", EMBEDDING_DIMENSIONS: "7", DATABASE_URL: "" };
  expect(() => readConfig(wrong)).toThrow(ConfigurationError);
  for (const name of ["RAG_MAX_CHUNKS", "EMBEDDING_DIMENSIONS", "DATABASE_URL"]) {
    expect(() => readConfig(wrong)).toThrow(name);
  }
  expect(() => readConfig(wrong)).not.toThrow(/none/);
});
