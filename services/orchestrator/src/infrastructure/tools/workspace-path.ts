import { type ToolResult, toolFailure } from "../../domain/tool-result.ts";

const root = "/workspace";

/** A path as the sandbox service takes it, or what is wrong with it. */
export type WorkspacePath = { readonly path: string } | { readonly refused: ToolResult };

/**
 * The path within the workspace of what a model wrote: `/workspace/a/b`, `a/b` and `./a/b` are the
 * same; the workspace itself is the empty path. Anything outside is refused.
 */
export function workspacePath(written: string): WorkspacePath {
  const inside = written === root || written.startsWith(`${root}/`) ? written.slice(root.length) : written;
  if (written.startsWith("/") && inside === written) return refused(written, `not under ${root}`);
  const parts = inside.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) return refused(written, "it holds '..'");
  if (written.includes("\0")) return refused(written, "it holds a NUL character");
  return { path: parts.join("/") };
}

/** A path as the model is shown it. */
export function shownPath(path: string): string {
  return path === "" ? root : `${root}/${path}`;
}

/** The glob of everything under a path, `**` and the like in the path itself included as written. */
export function globUnder(path: string, glob: string): string {
  if (path === "") return glob;
  return glob === "" ? `${path}/**` : `${path}/${glob}`;
}

function refused(written: string, why: string): WorkspacePath {
  const summary = `The path ${JSON.stringify(written.slice(0, 200))} cannot be used: ${why}. Use a path under ${root}.`;
  return { refused: toolFailure("BAD_PATH", summary) };
}
