import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { generateIdentityKeys, type IdentityKeys } from "@drover/rpc";
import type { Environment } from "@drover/runtime";
import { SuiteFailure } from "./failure.ts";

/** Where a suite on this machine keeps what must outlive its processes. */
export interface DataFolder {
  readonly path: string;
  /** Embedded profile: the database's files. */
  readonly database: string;
  /** The first API key, readable by its owner only. */
  readonly keyFile: string;
  readonly keys: IdentityKeys;
}

/** The folder of a profile: `DROVER_DATA` or `.drover/<profile>` in the repository. */
export function dataFolderOf(environment: Environment, profile: "embedded" | "distributed"): string {
  return environment.DROVER_DATA || resolve(import.meta.dirname, "../../.drover", profile);
}

/** Opens the folder, making it and the suite's identity keys at first use. Throws what the file system throws. */
export async function openDataFolder(path: string): Promise<DataFolder> {
  makeFolder(resolve(path));
  const file = join(path, "identity-keys.json");
  return { path, database: join(path, "postgres"), keyFile: join(path, "api-key"), keys: await keysIn(file) };
}

/** As `mkdir -p`; Node's own never returns where a file system has no room for folders, as under /proc. */
function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "EEXIST" && statSync(path).isDirectory()) return;
    if (code !== "ENOENT" || existsSync(dirname(path))) throw error;
    makeFolder(dirname(path));
    mkdirSync(path, { mode: 0o700 });
  }
}

async function keysIn(file: string): Promise<IdentityKeys> {
  try {
    const stored: IdentityKeys = JSON.parse(readFileSync(file, "utf8"));
    return stored;
  } catch (error) {
    if (error instanceof SyntaxError) {
      throw new SuiteFailure(`${file} is damaged.`, "Remove it; the next start makes new identity keys.");
    }
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
  const keys = await generateIdentityKeys();
  writeFileSync(file, JSON.stringify(keys), { mode: 0o600 });
  return keys;
}
