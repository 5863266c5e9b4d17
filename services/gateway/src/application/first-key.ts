import { invalidField } from "@drover/kernel";
import { everyScope, formatApiKey, parseApiKey } from "../domain/api-key.ts";
import type { KeyStore, KeyVault, NewApiKey } from "./ports.ts";

/** The tenant that exists from the start. */
const firstTenant = "default";

/**
 * Sees to it that somebody can get in. With `bootstrap` that very key is stored for the first tenant
 * (again and again without harm); otherwise a key is made where none exists at all and handed to `deliver`
 * once. Throws INVALID_ARGUMENT for a `bootstrap` that is no key, and what `deliver` throws.
 */
export async function ensureFirstKey(
  keys: KeyStore,
  vault: KeyVault,
  options: { readonly bootstrap: string | undefined; readonly deliver: (key: string) => Promise<void> },
): Promise<"stored" | "made" | "present"> {
  if (options.bootstrap !== undefined) {
    const parsed = parseApiKey(options.bootstrap);
    if (parsed === undefined) {
      throw invalidField(
        "DROVER_BOOTSTRAP_KEY",
        "a text that is no key",
        "drv_<12 of a-z0-9>_<43 base64url characters>",
      );
    }
    return (await keys.insert(newKey(vault, parsed.id, parsed.secret))) ? "stored" : "present";
  }
  const made = await keys.createFirst(firstTenant, async () => {
    const { id, secret } = vault.generate();
    await options.deliver(formatApiKey({ id, secret }));
    return newKey(vault, id, secret);
  });
  return made ? "made" : "present";
}

function newKey(vault: KeyVault, id: string, secret: string): NewApiKey {
  const digestKind = vault.digestKind;
  const digest = vault.digest(digestKind, id, secret);
  return { id, tenant: firstTenant, subject: `key:${id}`, scopes: [everyScope], digest, digestKind };
}
