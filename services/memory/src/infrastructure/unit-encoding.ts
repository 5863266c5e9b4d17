/** A text as bytes of a fixed width, so that a range of its UTF-16 units is a range of bytes. */
export interface UnitBytes {
  readonly bytes: Uint8Array;
  readonly unitBytes: 1 | 2;
}

/** One byte a unit where every unit is below 256, as in most logs; else two. Exact for any string. */
export function encodeUnits(text: string): UnitBytes {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is that of Latin-1
  const narrow = /^[\u0000-\u00ff]*$/.test(text);
  return narrow
    ? { bytes: Buffer.from(text, "latin1"), unitBytes: 1 }
    : { bytes: Buffer.from(text, "utf16le"), unitBytes: 2 };
}

/** The text of bytes that {@link encodeUnits} made. */
export function decodeUnits(bytes: Uint8Array, unitBytes: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(unitBytes === 1 ? "latin1" : "utf16le");
}
