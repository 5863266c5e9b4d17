import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { DroverError } from "@drover/kernel";

/**
 * Takes a data folder for this process, or throws FAILED_PRECONDITION that names the owner. Two processes on one folder
 * of the embedded database destroy it without a warning. The lock is one of the operating system's, held through an
 * SQLite file: it ends with its process however that ends, so there is never a stale one to judge.
 */
export function lockDataFolder(folder: string): Disposable {
  const owner = path.join(folder, "owner");
  const lock = new DatabaseSync(path.join(folder, "lock"), { timeout: 0 });
  try {
    lock.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    throw new DroverError(
      "FAILED_PRECONDITION",
      `The data folder ${folder} is in use by ${ownerOf(owner)}. Stop it, or choose another folder.`,
      { reason: "DATA_FOLDER_IN_USE", cause: error },
    );
  }
  writeFileSync(owner, `process ${process.pid}\n`);
  return {
    [Symbol.dispose]: () => lock.close(),
  };
}

function ownerOf(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return "another process";
  }
}
