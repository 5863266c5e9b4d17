import { readFile } from "node:fs/promises";
import path from "node:path";
import { DroverError } from "@drover/kernel";
import type { ToolServer } from "../../domain/tool-server.ts";

/** The secret of that name of a tenant; undefined where there is none. */
export type SecretLookup = (tenant: string, name: string) => Promise<string | undefined>;

/**
 * Secrets of tenants: from `given` (by tenant, then by name), then from the files `<directory>/<tenant>/<name>`, read
 * anew each time, so that a rotated one counts at once. No tenant reaches another one's: names hold no slash.
 */
export function createSecretLookup(
  given: Readonly<Record<string, Readonly<Record<string, string>>>>,
  directory: string | undefined,
): SecretLookup {
  return async (tenant, name) => {
    const own = Object.hasOwn(given, tenant) ? given[tenant] : undefined;
    if (own !== undefined && Object.hasOwn(own, name)) return own[name];
    if (directory === undefined || ![tenant, name].every((part) => /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}$/.test(part))) {
      return undefined;
    }
    const text = await readFile(path.join(directory, tenant, name), "utf8").catch(() => undefined);
    return text?.trim();
  };
}

/** The headers of a server with their secrets. FAILED_PRECONDITION names a secret that there is not. */
export async function headersOf(
  lookup: SecretLookup,
  tenant: string,
  { headers, name: server }: ToolServer,
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const { name, value, secret } of headers) {
    const text = secret === "" ? "" : await lookup(tenant, secret);
    if (text === undefined) {
      const message = `The tool server ${server} needs the secret ${secret}, which this deployment does not hold for the tenant.`;
      throw new DroverError("FAILED_PRECONDITION", message, { reason: "SECRET_MISSING", retryable: false });
    }
    found[name] = `${value}${text}`;
  }
  return found;
}
