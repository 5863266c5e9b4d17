import { defineConfig } from "vitest/config";

const exclude = ["**/node_modules/**"];

export default defineConfig({
  test: {
    projects: [
      {
        test: { name: "unit", include: ["**/*.test.ts"], exclude: [...exclude, "**/*.it.test.ts", "**/*.e2e.test.ts"] },
      },
      {
        test: {
          name: "it",
          include: ["**/*.it.test.ts"],
          exclude,
          testTimeout: 60_000,
          hookTimeout: 120_000,
          globalSetup: ["libs/testkit/src/global-setup.ts"],
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: "e2e",
          include: ["**/*.e2e.test.ts"],
          exclude,
          testTimeout: 120_000,
          hookTimeout: 240_000,
          fileParallelism: false,
          globalSetup: ["libs/testkit/src/global-setup.ts"],
        },
      },
    ],
  },
});
