import type { Refusal } from "./refusal.ts";

/** The longest name, in bytes of UTF-8; what file systems allow. */
const maxBytes = 255;
/** Characters that hide or reorder what a person reads: controls, bidirectional marks, zero-width ones. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** A name that passed, in Unicode form NFC, with its extension in lower case. */
export interface DocumentName {
  readonly name: string;
  /** With its dot, e.g. `.md`. */
  readonly extension: string;
}

/** Checks a file name; `extensions` are those that a parser exists for. */
export function documentName(raw: string, extensions: readonly string[]): DocumentName | Refusal {
  const name = raw.toWellFormed().normalize("NFC").trim();
  const bytes = new TextEncoder().encode(name).byteLength;
  if (bytes === 0 || bytes > maxBytes) return refusedName(`${bytes} bytes`, `1 to ${maxBytes} bytes`);
  if (/[/\\]/.test(name) || name === "." || name === "..") {
    return refusedName("a path", "a file name without folders");
  }
  if (invisible.test(name)) {
    return refusedName("control or invisible characters", "characters that can be seen");
  }
  const dot = name.lastIndexOf(".");
  const extension = dot <= 0 ? "" : name.slice(dot).toLowerCase();
  if (extensions.includes(extension)) return { name, extension };
  return {
    check: "extension",
    found: extension === "" ? "no extension" : extension.slice(0, 20),
    allowed: extensions.join(", "),
  };
}

function refusedName(found: string, allowed: string): Refusal {
  return { check: "name", found, allowed };
}
