/** The two parts of an API key's text `drv_<id>_<secret>`. */
export interface ApiKeyText {
  /** 12 of a-z and 0-9: finds the row, is no secret, and may stand in logs. */
  readonly id: string;
  /** 43 base64url characters, 256 random bits. Only its digest is stored. */
  readonly secret: string;
}

const format = /^drv_([a-z0-9]{12})_([A-Za-z0-9_-]{43})$/;

/** The parts of a key's text, or undefined where the text is none. */
export function parseApiKey(text: string): ApiKeyText | undefined {
  const match = format.exec(text);
  const id = match?.[1];
  const secret = match?.[2];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

/** The text that a caller presents. */
export function formatApiKey({ id, secret }: ApiKeyText): string {
  return `drv_${id}_${secret}`;
}

/** A stored key: everything but its secret. */
export interface ApiKey {
  readonly id: string;
  readonly tenant: string;
  readonly subject: string;
  /** Scopes it may use; {@link everyScope} alone stands for all. */
  readonly scopes: readonly string[];
  readonly digest: Uint8Array;
  readonly digestKind: DigestKind;
  readonly revokedAt: Date | undefined;
}

/** How a secret was digested: with the server's pepper, or plainly, which 256 random bits allow. */
export type DigestKind = "hmac-sha256" | "sha256";

/** A key with this scope may use every scope that the edge admits, also those of later versions. */
export const everyScope = "*";

/** The scopes of a key by name. */
export function expandScopes(scopes: readonly string[], known: readonly string[]): readonly string[] {
  return scopes.includes(everyScope) ? known : scopes;
}
