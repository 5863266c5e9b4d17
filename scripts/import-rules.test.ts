import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";

/** What is imported from where, and whether docs/architecture.md allows it. */
const cases: readonly (readonly [file: string, imported: string, allowed: boolean])[] = [
  ["services/rag/src/domain/a.ts", "node:fs", false],
  ["services/rag/src/domain/b.ts", "./chunk.ts", true],
  ["services/rag/src/domain/c.ts", "@drover/kernel", true],
  ["services/rag/src/domain/d.ts", "@drover/model", true],
  ["services/rag/src/domain/e.ts", "@drover/model/openai", false],
  ["services/rag/src/domain/f.ts", "../application/ports.ts", false],
  ["services/rag/src/domain/g.ts", "@drover/proto/rag/v1/document", false],
  ["services/rag/src/application/a.ts", "../domain/chunk.ts", true],
  ["services/rag/src/application/b.ts", "../infrastructure/database.ts", false],
  ["services/rag/src/application/c.ts", "kysely", false],
  ["services/rag/src/application/d.ts", "node:crypto", false],
  ["services/rag/src/application/e.ts", "@drover/proto/rag/v1/document", false],
  ["services/rag/src/api/a.ts", "../application/search.ts", true],
  ["services/rag/src/api/b.ts", "../infrastructure/database.ts", false],
  ["services/rag/src/api/c.ts", "pg", false],
  ["services/rag/src/infrastructure/a.ts", "../application/ports.ts", true],
  ["services/rag/src/infrastructure/b.ts", "../application/search.ts", false],
  ["services/rag/src/infrastructure/c.ts", "../api/document-service.ts", false],
  ["services/rag/src/infrastructure/d.ts", "@drover/memory/wiring", false],
  ["services/rag/src/wiring.ts", "@drover/memory/wiring", false],
  ["services/rag/src/main.ts", "@drover/testkit", false],
  ["libs/kernel/src/a.ts", "@drover/rpc", false],
  ["libs/bus/src/a.ts", "@drover/kernel", true],
  ["libs/bus/src/b.ts", "@drover/rpc", false],
  ["libs/rpc/src/a.ts", "@drover/proto/common/v1/options", true],
  ["suite/src/a.ts", "@drover/rag/wiring", true],
  ["suite/src/b.ts", "@drover/rag/src/domain/chunk.ts", false],
];

test("the import allow-lists catch every planted violation and let the rest pass", () => {
  const root = resolve(import.meta.dirname, "..");
  const folder = mkdtempSync(join(tmpdir(), "drover-imports-"));
  try {
    const config = JSON.parse(readFileSync(join(root, "biome.json"), "utf8"));
    config.vcs = { enabled: false };
    config.linter.rules = { recommended: false };
    writeFileSync(join(folder, "biome.json"), JSON.stringify(config));
    for (const [file, imported] of cases) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), `export { a } from "${imported}";\n`);
    }
    const biome = join(root, "node_modules/.bin/biome");
    const run = spawnSync(
      biome,
      ["lint", "--reporter=json", "--max-diagnostics=none", "--only=style/noRestrictedImports", "."],
      {
        cwd: folder,
        encoding: "utf8",
      },
    );
    const report: { diagnostics: { location: { path: string | { file: string } } }[] } = JSON.parse(run.stdout);
    const refused = new Set(
      report.diagnostics.map(({ location: { path } }) =>
        (typeof path === "string" ? path : path.file).replace(/^\.\//, ""),
      ),
    );
    const seen = cases.map(([file, imported]) => [file, imported, !refused.has(file)]);
    expect(seen).toEqual(cases);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
