import { type DescMessage, type JsonValue, type MessageShape, toJson } from "@bufbuild/protobuf";
import type { Terminal } from "./terminal.ts";

/** A message in proto3 JSON, default values included; 64-bit numbers are strings there. Undefined gives null. */
export function jsonOf<D extends DescMessage>(schema: D, message: MessageShape<D> | undefined): JsonValue {
  return message === undefined ? null : toJson(schema, message, { alwaysEmitImplicit: true });
}

/** Prints one JSON document; what a terminal would act on is escaped as JSON allows. */
export function printJson(terminal: Terminal, document: JsonValue): void {
  const text = JSON.stringify(document, null, 2).replaceAll(
    /[\x7f-\x9f]|\p{Bidi_Control}/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  terminal.print(`${text}\n`);
}

/** Bytes as base64 and, where they are valid UTF-8, as text. */
export function jsonBytes(bytes: Uint8Array): { readonly base64: string; readonly text?: string } {
  const base64 = Buffer.from(bytes).toString("base64");
  try {
    return { base64, text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { base64 };
  }
}
