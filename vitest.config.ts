import { defineConfig } from "vitest/config";

const exclude = ["**/node_modules/**"];
/** How long a poll waits for what must come; it ends as soon as that is there. */
const waits = { poll: { timeout: 15_000 } };
const setupFiles = ["libs/testkit/src/late-rejections.ts"];

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: ["**/*.test.ts"],
          exclude: [...exclude, "**/*.it.test.ts", "**/*.e2e.test.ts"],
          setupFiles,
          // Speed is shown by benchmarks: a limit only ends what hangs, also on a machine under load.
          testTimeout: 30_000,
          expect: waits,
        },
      },
      {
        test: {
          name: "it",
          include: ["**/*.it.test.ts"],
          exclude,
          setupFiles,
          testTimeout: 60_000,
          expect: waits,
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
          setupFiles,
          testTimeout: 120_000,
          expect: waits,
          hookTimeout: 240_000,
          fileParallelism: false,
          globalSetup: ["libs/testkit/src/global-setup.ts"],
        },
      },
    ],
  },
});
