import type { Transport } from "@connectrpc/connect";
import { isToolName } from "@drover/model";
import { expect, test } from "vitest";
import { CodeLanguages } from "./code-languages.ts";
import { standardTools } from "./standard-tools.ts";
import { createToolBox } from "./tool-box.ts";

const nowhere = {} as Transport;
const languages = new CodeLanguages(nowhere, ["python", "bash"], () => 0);
const box = createToolBox(standardTools({ sandbox: nowhere, rag: nowhere, memory: nowhere, languages, patienceMs: 0 }));

function refusal(name: string, args: string): string {
  const resolved = box.resolve(name, args);
  return "refused" in resolved ? `${resolved.refused.errorCode} ${resolved.refused.summary}` : "";
}

test("the model is offered twelve tools with names that every provider accepts", () => {
  expect(box.specs.map((spec) => spec.name)).toEqual([
    "run_code",
    "read_spill",
    "search_documents",
    "read_file",
    "write_file",
    "list_directory",
    "grep",
    "glob",
    "edit_file",
    "bash",
    "bash_output",
    "kill_bash",
  ]);
  for (const spec of box.specs) {
    expect(isToolName(spec.name)).toBe(true);
    expect(spec.parameters).toMatchObject({ type: "object", additionalProperties: false });
  }
});

test("good arguments reach their tool, none at all too where none are needed", () => {
  expect(box.resolve("grep", '{"pattern":"x"}')).toMatchObject({ args: { pattern: "x" } });
  expect(box.resolve("list_directory", "")).toMatchObject({ args: {} });
});

test("numbers and truth values that were written as texts reach their tool as what they are", () => {
  expect(box.resolve("run_code", '{"language":"bash","code":"5","timeout_seconds":"7"}')).toMatchObject({
    args: { language: "bash", code: "5", timeout_seconds: 7 },
  });
  expect(refusal("run_code", '{"language":"bash","code":"5","timeout_seconds":"soon"}')).toContain(
    "timeout_seconds must be integer",
  );
});

test("what is wrong is said in words that help", () => {
  expect(refusal("nope", "{}")).toMatch(/^UNKNOWN_TOOL There is no tool "nope"; there are run_code, /);
  expect(refusal("grep", "[1]")).toMatch(/^BAD_ARGUMENTS The arguments are not one JSON object/);
  expect(refusal("grep", "{]")).toMatch(/^BAD_ARGUMENTS/);
  expect(refusal("run_code", '{"code":""}')).toMatch(
    /must have required property 'language'.*code must NOT have fewer/,
  );
  expect(refusal("run_code", '{"language":"cobol","code":"x"}')).toContain(
    "language must be equal to one of the allowed values (python, bash)",
  );
  expect(refusal("read_file", '{"path":"a","pth":1}')).toContain("(pth)");
  expect(refusal("read_file", '{"path":7}')).toContain("path must be string");
});
