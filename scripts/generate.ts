/**
 * Generates proto/gen from proto/. With `--check` it generates into a temporary folder and fails when
 * the committed code differs, naming the files.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const committed = join(root, "proto/gen");

function generate(into: string): void {
  execFileSync("buf", ["generate", "--output", into], { cwd: root, stdio: "inherit" });
}

function files(folder: string): Map<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [relative(folder, path), readFileSync(path, "utf8")];
    }),
  );
}

if (process.argv.includes("--check")) {
  const folder = mkdtempSync(join(tmpdir(), "drover-gen-"));
  try {
    generate(folder);
    const fresh = files(join(folder, "proto/gen"));
    const old = files(committed);
    const stale = [...new Set([...fresh.keys(), ...old.keys()])].filter((name) => fresh.get(name) !== old.get(name));
    if (stale.length > 0) {
      process.stderr.write(`proto/gen is not what buf generates; run make gen. Differing: ${stale.join(", ")}\n`);
      process.exitCode = 1;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
} else {
  const folder = mkdtempSync(join(tmpdir(), "drover-gen-"));
  try {
    generate(folder);
    rmSync(committed, { recursive: true, force: true });
    cpSync(join(folder, "proto/gen"), committed, { recursive: true });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
