import { type Clock, DroverError } from "@drover/kernel";
import { type ApiKey, expandScopes, parseApiKey } from "../domain/api-key.ts";
import type { KeyStore, KeyVault } from "./ports.ts";
import type { Principal } from "./principal.ts";

/** What {@link createAuthenticator} needs. */
export interface AuthenticatorOptions {
  readonly keys: KeyStore;
  readonly vault: KeyVault;
  readonly clock: Pick<Clock, "now" | "monotonicMs">;
  /** Every scope that the edge admits. */
  readonly scopes: readonly string[];
  /** How long a stored key is believed, in milliseconds: so long a revoked key may still work. */
  readonly cacheMs: number;
  /** How long after that it is still believed while the database does not answer. */
  readonly staleMs: number;
  /** Hears of use marks that could not be written; nothing else is lost by it. */
  readonly onTouchFailed: (error: unknown) => void;
}

/** Finds out who a request comes from. */
export interface Authenticator {
  /**
   * The principal of an API key's text; at once where the key is cached. UNAUTHENTICATED, with one wording
   * for no key, a wrong one, and a revoked one.
   */
  byKey(text: string | undefined): Principal | Promise<Principal>;
  /** The principal of a key's id, for a session that was signed for it. Same errors. */
  byId(keyId: string): Promise<Principal>;
}

/** How to authenticate, in every refusal. */
const advice = 'Send an API key in the header "authorization: Bearer drv_…", or sign in at the viewer.';

const cacheCapacity = 10_000;
const touchEveryMs = 60_000;

interface Entry {
  readonly key: ApiKey | undefined;
  readonly principal: Principal | undefined;
  readonly readAtMs: number;
  touchedAtMs: number;
}

/** UNAUTHENTICATED in the one wording of the edge. */
export function unauthenticated(): DroverError {
  return new DroverError("UNAUTHENTICATED", `The request has no valid credentials. ${advice}`, {
    reason: "CREDENTIALS_INVALID",
  });
}

/** An authenticator over stored keys with a bounded cache in memory, of unknown ids too. */
export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { keys, vault, clock } = options;
  const entries = new Map<string, Entry>();
  const reading = new Map<string, Promise<Entry>>();

  const fresh = (id: string): Entry | undefined => {
    const entry = entries.get(id);
    return entry !== undefined && clock.monotonicMs() - entry.readAtMs < options.cacheMs ? entry : undefined;
  };

  const read = async (id: string): Promise<Entry> => {
    const old = entries.get(id);
    try {
      const key = await keys.find(id);
      const entry = { key, principal: principalOf(key, options.scopes), readAtMs: clock.monotonicMs() };
      return remember(entries, id, { ...entry, touchedAtMs: old?.touchedAtMs ?? Number.NEGATIVE_INFINITY });
    } catch (error) {
      if (old !== undefined && clock.monotonicMs() - old.readAtMs < options.cacheMs + options.staleMs) return old;
      throw error;
    }
  };

  const load = (id: string): Promise<Entry> => {
    const running = reading.get(id);
    if (running !== undefined) return running;
    const started = read(id).finally(() => reading.delete(id));
    reading.set(id, started);
    return started;
  };

  const use = (entry: Entry): Principal => {
    if (entry.key === undefined || entry.principal === undefined) throw unauthenticated();
    const now = clock.monotonicMs();
    if (now - entry.touchedAtMs >= touchEveryMs) {
      entry.touchedAtMs = now;
      keys.touch(entry.key, clock.now()).catch(options.onTouchFailed);
    }
    return entry.principal;
  };

  const check = (entry: Entry, id: string, secret: string): Principal => {
    // An unknown id is digested and compared like a known one, so that time does not tell them apart.
    const kind = entry.key?.digestKind ?? vault.digestKind;
    const digest = vault.digest(kind, id, secret);
    if (!vault.equal(digest, entry.key?.digest ?? new Uint8Array(digest.length))) throw unauthenticated();
    return use(entry);
  };

  return {
    byKey(text) {
      const parsed = parseApiKey(text ?? "");
      if (parsed === undefined) throw unauthenticated();
      const { id, secret } = parsed;
      const cached = fresh(id);
      return cached === undefined ? load(id).then((entry) => check(entry, id, secret)) : check(cached, id, secret);
    },
    async byId(keyId) {
      return use(fresh(keyId) ?? (await load(keyId)));
    },
  };
}

function principalOf(key: ApiKey | undefined, known: readonly string[]): Principal | undefined {
  if (key === undefined || key.revokedAt !== undefined) return undefined;
  const scopes = Object.freeze([...expandScopes(key.scopes, known)]);
  return Object.freeze({ keyId: key.id, tenant: key.tenant, subject: key.subject, scopes });
}

function remember(entries: Map<string, Entry>, id: string, entry: Entry): Entry {
  entries.delete(id);
  if (entries.size >= cacheCapacity) {
    const oldest = entries.keys().next();
    if (!oldest.done) entries.delete(oldest.value);
  }
  entries.set(id, entry);
  return entry;
}
