import { randomUUID } from "node:crypto";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Hands the first key over: into `file` where one is named, readable by the owner only and never
 * half written; else as one line on standard output. Neither is repeated.
 */
export function firstKeyDelivery(
  file: string | undefined,
  print: (line: string) => void = (line) => void process.stdout.write(line),
): (key: string) => Promise<void> {
  return async (key) => {
    if (file === undefined) {
      print(`The first API key, shown this once: ${key}\n`);
      return;
    }
    await mkdir(dirname(file), { recursive: true });
    const draft = `${file}.${randomUUID()}`;
    try {
      await writeFile(draft, `${key}\n`, { mode: 0o600, flag: "wx" });
      await rename(draft, file);
    } finally {
      await rm(draft, { force: true });
    }
  };
}
