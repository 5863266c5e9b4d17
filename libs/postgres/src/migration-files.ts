import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { DroverError } from "@drover/kernel";

/** Numbered SQL files that belong together, such as those of a service or of a library whose tables a service keeps. */
export interface MigrationSet {
  /** Names the set in the schema's record; a library uses its own name. */
  readonly name: string;
  /** Absolute path of the folder with `000001_<name>.sql`, `000002_<name>.sql`, … */
  readonly directory: string;
}

/** One migration file. */
export interface MigrationFile {
  readonly set: string;
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of the text, in hex. */
  readonly checksum: string;
}

const fileName = /^(\d{6})_([a-z0-9_]+)\.sql$/;
const transactionControl = /^\s*(begin|commit|rollback|start transaction)\s*;/im;

/** Reads a set in order. FAILED_PRECONDITION for a stray file, a gap, or a file that would end its own transaction. */
export async function readMigrations(set: MigrationSet): Promise<MigrationFile[]> {
  const names = (await readdir(set.directory)).filter((name) => name.endsWith(".sql")).sort();
  return await Promise.all(names.map((name, index) => readMigration(set, name, index + 1)));
}

async function readMigration(set: MigrationSet, name: string, expected: number): Promise<MigrationFile> {
  const match = fileName.exec(name);
  const version = Number(match?.[1]);
  if (match === null || version !== expected) {
    const wanted = `${String(expected).padStart(6, "0")}_<name>.sql`;
    throw refused(`found ${set.name}/${name} where ${wanted} was expected; versions run from 1 without a gap`);
  }
  const sql = await readFile(path.join(set.directory, name), "utf8");
  if (transactionControl.test(sql)) throw refused(`${set.name}/${name} controls the transaction; migrate does that`);
  return { set: set.name, version, name, sql, checksum: createHash("sha256").update(sql).digest("hex") };
}

function refused(what: string): DroverError {
  return new DroverError("FAILED_PRECONDITION", `Migrations: ${what}.`, { reason: "MIGRATION_REFUSED" });
}
