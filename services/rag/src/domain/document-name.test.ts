import { describe, expect, it } from "vitest";
import { documentName } from "./document-name.ts";

const extensions = [".md", ".txt"];

describe("documentName", () => {
  it("normalises to NFC and finds the extension whatever its case", () => {
    expect(documentName("Cafe\u0301.v2.MD", extensions)).toEqual({ name: "Café.v2.MD", extension: ".md" });
  });

  it.each([
    ["", "name"],
    ["../secret.md", "name"],
    ["a\\b.md", "name"],
    ["a\u0000.md", "name"],
    ["invoice\u202egnp.md", "name"],
    ["a\u200bb.md", "name"],
    [`${"ä".repeat(130)}.md`, "name"],
    ["report.docx", "extension"],
    ["README", "extension"],
    [".md", "extension"],
  ])("refuses %j by its %s", (name, check) => {
    expect(documentName(name, extensions)).toMatchObject({ check });
  });
});
