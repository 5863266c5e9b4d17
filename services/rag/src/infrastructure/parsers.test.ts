import { countTokens } from "@drover/model/tokens";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Chunk, splitDocument } from "../domain/splitter.ts";
import { markdownParser } from "./markdown-parser.ts";
import { plainTextParser } from "./plain-text-parser.ts";

const sizes = { target: 60, limit: 100 };
const textOf = (source: string, chunk: Chunk) => source.slice(chunk.start, chunk.end);

function split(source: string, parser = markdownParser, own = sizes) {
  const chunks = splitDocument(source, parser.parse(source), own, countTokens);
  return chunks.map((chunk) => ({ ...chunk, text: textOf(source, chunk) }));
}

describe("splitDocument on Markdown", () => {
  it("gives each section its heading path, for ATX and setext headings", () => {
    const source = "# Runbook\n\nIntro.\n\nPayments\n--------\n\n### Stuck `pending` #\n\nWait.\n\n# C#\n\nEnd.";
    expect(split(source).map((c) => [c.headingPath, c.text])).toEqual([
      [["Runbook"], "# Runbook\n\nIntro."],
      [["Runbook", "Payments", "Stuck pending"], "Payments\n--------\n\n### Stuck `pending` #\n\nWait."],
      [["C#"], "# C#\n\nEnd."],
    ]);
  });

  it("takes no heading out of a fence and never cuts a fence that fits", () => {
    const fence = `~~~sh\n# not a heading\n${"echo ok\n".repeat(20)}~~~`;
    const chunks = split(`# A\n\n${"Words before it. ".repeat(12)}\n\n${fence}\n\nAfter.`);
    expect(chunks.every((c) => c.headingPath.join() === "A")).toBe(true);
    expect(chunks.filter((c) => c.text.includes(fence))).toHaveLength(1);
  });

  it("cuts a table that does not fit between rows and leads its later parts with the head", () => {
    const rows = Array.from({ length: 40 }, (_, i) => `| order-${i} | pending |`);
    const chunks = split(`# T\n\n| id | state |\n| --- | --- |\n${rows.join("\n")}\n`);
    expect(chunks.length).toBeGreaterThan(2);
    for (const chunk of chunks.slice(1)) {
      expect(chunk.text).toMatch(/^\| order-\d+ \| pending \|/);
      expect(chunk.text).toMatch(/pending \|$/);
      expect(chunk.lead).toBe("T\n| id | state |\n| --- | --- |");
    }
  });

  it("leaves front matter out and keeps what a thematic break stands above", () => {
    expect(split("---\ntitle: x\n---\n# A\n\ntext").map((c) => c.text)).toEqual(["# A\n\ntext"]);
    expect(split("text\n\n---\n\nmore").map((c) => c.text)).toEqual(["text\n\n---\n\nmore"]);
  });

  it("ends chunks of long Chinese prose at sentence marks", () => {
    const source = "支付网关在超时后会重试三次。如果仍然失败，订单会停留在待支付状态！请检查日志。".repeat(12);
    const chunks = split(source);
    expect(chunks.length).toBeGreaterThan(3);
    for (const chunk of chunks) expect(chunk.text).toMatch(/[。！]$/);
  });

  it("cuts a single endless word without tearing a surrogate pair", () => {
    for (const chunk of split("😀".repeat(3000))) expect(chunk.text.isWellFormed()).toBe(true);
  });

  it(
    "takes linear time for a text of nothing but dots",
    () => expect(split(`${".".repeat(300_000)}a`, plainTextParser).at(-1)?.text).toMatch(/a$/),
    // A search that starts again at each dot is quadratic and would take many minutes.
    60_000,
  );
});

const paragraph = fc.oneof(
  fc.lorem({ maxCount: 30, mode: "words" }),
  fc.lorem({ maxCount: 6, mode: "sentences" }),
  fc.string({ unit: "grapheme", maxLength: 200 }),
  fc.constantFrom(
    "# One",
    "## Two",
    "Three\n---",
    "- a\n- b\n- c",
    "> quote",
    "中文句子。第二句！",
    "a\r\nb",
    "    code",
    "<b>x</b>",
  ),
  fc.nat(40).map((n) => `\`\`\`ts\n${"const a = 1;\n".repeat(n)}\`\`\``),
  fc.nat(30).map((n) => `|a|b|\n|-|-|\n${"|1|2|\n".repeat(n)}`),
  fc.nat(900).map((n) => "x".repeat(n)),
  fc.nat(300).map((n) => "漢".repeat(n)),
);
const document = fc.array(paragraph, { maxLength: 12 }).map((parts) => parts.join("\n\n"));

describe.each([markdownParser, plainTextParser])("splitDocument with $mediaType, for any document", (parser) => {
  it("makes exact slices in order that hold everything but white space", () => {
    fc.assert(
      fc.property(document, (source) => {
        const chunks = split(source, parser);
        let at = source.length - source.slice(firstBlock(source)).length;
        for (const chunk of chunks) {
          expect(source.slice(at, chunk.start).trim()).toBe("");
          expect(chunk.text.trim()).not.toBe("");
          at = chunk.end;
        }
        expect(source.slice(at).trim()).toBe("");
      }),
    );
    function firstBlock(source: string): number {
      return parser.parse(source).blocks[0]?.start ?? source.length;
    }
  });

  it("keeps lead and text within the limit, whole code points, and is the same each time", () => {
    fc.assert(
      fc.property(document, fc.integer({ min: 40, max: 200 }), (source, limit) => {
        const own = { target: Math.floor(limit * 0.6), limit };
        const chunks = split(source, parser, own);
        expect(split(source, parser, own)).toEqual(chunks);
        for (const chunk of chunks) {
          expect(countTokens(`${chunk.lead}\n${chunk.text}`)).toBeLessThanOrEqual(limit);
          expect(chunk.text.isWellFormed() || !source.isWellFormed()).toBe(true);
        }
      }),
    );
  });
});
