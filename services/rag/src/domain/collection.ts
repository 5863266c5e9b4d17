import { DroverError, invalidField } from "@drover/kernel";
import type { EmbedderIdentity } from "./document.ts";

/** The name to use for a requested one; empty means `default`. INVALID_ARGUMENT for a name out of shape. */
export function collectionName(requested: string, field: string): string {
  if (requested === "") return "default";
  if (/^[a-z0-9_-]{1,64}$/.test(requested)) return requested;
  throw invalidField(field, JSON.stringify(requested.slice(0, 80)), "1 to 64 of a-z, 0-9, _ and -");
}

/** FAILED_PRECONDITION when a collection was made with another embedder than the configured one. */
export function requireSameEmbedder(
  collection: string,
  stored: EmbedderIdentity | undefined,
  configured: EmbedderIdentity,
): void {
  if (stored === undefined || (stored.id === configured.id && stored.dimensions === configured.dimensions)) return;
  const of = (embedder: EmbedderIdentity) => `${embedder.id} (${embedder.dimensions} dimensions)`;
  throw new DroverError(
    "FAILED_PRECONDITION",
    `Collection ${collection} was made with the embedder ${of(stored)}, and ${of(configured)} is configured. ` +
      "Configure the first again, or upload into another collection.",
    { reason: "EMBEDDER_MISMATCH", metadata: { collection, stored: stored.id, configured: configured.id } },
  );
}
