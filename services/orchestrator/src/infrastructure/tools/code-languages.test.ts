import { createRouterTransport } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { expect, test } from "vitest";
import { CodeLanguages } from "./code-languages.ts";
import { runCodeTool } from "./run-code.ts";
import { createToolBox } from "./tool-box.ts";

/** A sandbox that has these languages, or is away. */
function sandboxWith(state: { names: readonly string[] | undefined; asked: number }) {
  return createRouterTransport(({ service }) => {
    service(ExecService, {
      listLanguages() {
        state.asked++;
        if (state.names === undefined) throw new DroverError("UNAVAILABLE", "away");
        return { languages: [...state.names.map((name) => ({ name, available: true })), { name: "cobol" }] };
      },
    });
  });
}

test("run_code offers what the sandbox has, and what it had while it is away", async () => {
  const state: Parameters<typeof sandboxWith>[0] = { names: undefined, asked: 0 };
  let now = 0;
  using languages = new CodeLanguages(sandboxWith(state), [], () => now);
  const box = createToolBox([runCodeTool(sandboxWith(state), languages, 0)]);
  const accepts = (language: string) => "tool" in box.resolve("run_code", JSON.stringify({ language, code: "x" }));
  await languages.refresh();
  expect(languages.current).toEqual(["python", "javascript", "bash"]);
  state.names = ["python", "rust"];
  await languages.refresh();
  expect(box.specs[0]?.parameters).toMatchObject({ properties: { language: { enum: ["python", "rust"] } } });
  expect(box.specs[0]).toBe(box.specs[0]);
  expect([accepts("rust"), accepts("bash"), accepts("cobol")]).toEqual([true, false, false]);
  state.names = undefined;
  await languages.refresh();
  expect(accepts("rust")).toBe(true);
  const { asked } = state;
  expect(languages.current).toBe(languages.current);
  now += 60_000;
  expect(languages.current).toBe(languages.current);
  await expect.poll(() => state.asked).toBe(asked + 1);
});

test("languages that are named are offered, and nobody is asked", () => {
  const state = { names: ["rust"], asked: 0 };
  using languages = new CodeLanguages(sandboxWith(state), ["awk"], () => 0);
  expect(languages.current).toEqual(["awk"]);
  expect(state.asked).toBe(0);
});
