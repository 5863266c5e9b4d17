import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "..");

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly workspaces?: readonly string[];
}

const read = (path: string): Manifest => JSON.parse(readFileSync(resolve(root, path), "utf8"));
const manifests = ["package.json", ...(read("package.json").workspaces ?? []).map((glob) => `${glob}/package.json`)]
  .flatMap((glob) => globSync(glob, { cwd: root }))
  .map((path) => [path, read(path)] as const);

test("every dependency has an exact version", () => {
  expect(manifests.length).toBeGreaterThan(20);
  const ranges = manifests.flatMap(([path, { dependencies, devDependencies }]) =>
    Object.entries({ ...dependencies, ...devDependencies })
      .filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))
      .map(([name, version]) => `${path}: ${name} ${version}`),
  );
  expect(ranges).toEqual([]);
});

test("docs/dependencies.md says of every package what it is for", () => {
  const page = readFileSync(resolve(root, "docs/dependencies.md"), "utf8");
  const named = new Set([...page.matchAll(/(?:^\||[,→]) ?(@?[a-z0-9][\w@/.-]*)/gm)].map(([, name]) => name));
  const used = manifests.flatMap(([, { dependencies, devDependencies }]) =>
    Object.keys({ ...dependencies, ...devDependencies }),
  );
  const outside = (name: string) =>
    !name.startsWith("@drover/") && name !== "drover-cli" && !name.startsWith("@types/");
  expect([...new Set(used)].filter((name) => outside(name) && !named.has(name)).sort()).toEqual([]);
});
