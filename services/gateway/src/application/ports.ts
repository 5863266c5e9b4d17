import type { ApiKey, DigestKind } from "../domain/api-key.ts";

/** The keys and tenants that are stored. UNAVAILABLE where the database is. */
export interface KeyStore {
  /** A key by its id, over all tenants; undefined where there is none. Revoked keys are found too. */
  find(id: string): Promise<ApiKey | undefined>;
  /** Remembers that a key was used, to the minute. */
  touch(key: ApiKey, usedAt: Date): Promise<void>;
  /**
   * Makes the tenant and, where no key exists at all, the key that `make` gives; several starters at
   * once make one. `make` may deliver the key's text: it runs before the commit, and when it throws nothing is stored.
   */
  createFirst(tenant: string, make: () => Promise<NewApiKey>): Promise<boolean>;
  /** Stores a key under its tenant unless its id is taken; false where it was. */
  insert(key: NewApiKey): Promise<boolean>;
  /** 32 random bytes that all replicas share, made at the first call: what sessions are signed with. */
  sessionSecret(candidate: Uint8Array): Promise<Uint8Array>;
}

/** A key to store. */
export type NewApiKey = Omit<ApiKey, "revokedAt">;

/** Digests of secrets, and what is random. */
export interface KeyVault {
  /** How new keys are digested. */
  readonly digestKind: DigestKind;
  /** The digest of a key's secret, bound to the key's id. */
  digest(kind: DigestKind, id: string, secret: string): Uint8Array;
  /** Compares in a time that does not depend on the content. */
  equal(a: Uint8Array, b: Uint8Array): boolean;
  /** A fresh id and secret for an API key. */
  generate(): { readonly id: string; readonly secret: string };
}

/** Signs short texts and checks the signatures. */
export interface TextSigner {
  /** The text with its signature. */
  sign(text: string): string;
  /** The text of a signed one, or undefined where the signature does not fit. */
  open(signed: string): string | undefined;
}
