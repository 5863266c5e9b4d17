import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmTableFromMarkdown } from "mdast-util-gfm-table";
import { gfmTable } from "micromark-extension-gfm-table";
import type { DocumentParser } from "../application/ports.ts";
import type { Block } from "../domain/block.ts";

type Node = ReturnType<typeof fromMarkdown>["children"][number];

/** YAML or TOML between fences at the very start; it describes the document and is no part of its text. */
const frontMatter = /^(---|\+\+\+)[^\S\n]*\r?\n(?:[\s\S]*?\n)?\1[^\S\n]*(?:\r?\n|$)/;

/** CommonMark with GFM tables. The blocks begin where the parser says and reach to the next one. */
export const markdownParser: DocumentParser = {
  mediaType: "text/markdown",
  extensions: [".md", ".markdown"],
  parse(source) {
    const from = frontMatter.exec(source)?.[0].length ?? 0;
    const tree = fromMarkdown(source.slice(from), {
      extensions: [gfmTable()],
      mdastExtensions: [gfmTableFromMarkdown()],
    });
    const nodes = tree.children.flatMap((node) => (node.type === "list" ? node.children : [node]));
    const starts = nodes.map((node, index) => (index === 0 ? from : from + startOf(node)));
    const blocks = nodes.map((node, index) =>
      blockOf(node, source, starts[index] ?? from, starts[index + 1] ?? source.length),
    );
    return { blocks };
  },
};

function startOf(node: {
  readonly position?: { readonly start: { readonly offset?: number | undefined } } | undefined;
}) {
  return node.position?.start.offset ?? 0;
}

function blockOf(node: Node, source: string, start: number, end: number): Block {
  switch (node.type) {
    case "heading":
      return { kind: "heading", depth: node.depth, title: textOf(node).trim(), start, end };
    case "code":
      return { kind: "fence", lead: firstLines(source, start, 1), start, end };
    case "table":
      return { kind: "table", lead: firstLines(source, start, 2), start, end };
    default:
      return { kind: "prose", start, end };
  }
}

function firstLines(source: string, start: number, lines: number): string {
  let end = start;
  for (let line = 0; line < lines; line++) {
    const next = source.indexOf("\n", end);
    if (next === -1) return source.slice(start);
    end = next + 1;
  }
  return source.slice(start, end).trimEnd();
}

function textOf(node: Node): string {
  if ("value" in node) return node.value;
  return "children" in node ? node.children.map(textOf).join("") : "";
}
