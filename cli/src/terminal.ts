import type { Readable, Writable } from "node:stream";
import type { Environment } from "./config.ts";
import { safeLines } from "./render/terminal-text.ts";

/** The process's three streams, and what may be done with them. */
export interface Terminal {
  /** Standard output is a terminal that may be drawn over. */
  readonly live: boolean;
  /** Colour on standard output. */
  readonly color: boolean;
  readonly width: number;
  /** Text of our own to standard output. */
  print(text: string): void;
  /** Lines to standard error; what a terminal would act on is escaped. */
  complain(text: string): void;
  /** Exact bytes; resolves when they are on their way, so a slow reader slows the writer. */
  writeBytes(stream: "stdout" | "stderr", bytes: Uint8Array): Promise<void>;
  /** All of standard input. */
  readInput(): Promise<Uint8Array>;
}

/** Where output goes without a terminal, lines are as wide as this. */
const plainWidth = 100;
const widest = 120;

/** The terminal of this process; colour and movement only where NO_COLOR, TERM and the stream allow them. */
export function terminalOf(
  streams: {
    readonly stdin: Readable;
    readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
    readonly stderr: Writable;
  },
  environment: Environment,
): Terminal {
  const capable = streams.stdout.isTTY === true && environment.TERM !== "dumb";
  return {
    live: capable,
    color: capable && !environment.NO_COLOR,
    width: capable ? Math.min(widest, (streams.stdout.columns || 80) - 1) : plainWidth,
    print: (text) => void streams.stdout.write(text),
    complain: (text) => void streams.stderr.write(`${safeLines(text).join("\n")}\n`),
    writeBytes: (stream, bytes) => new Promise((resolve) => streams[stream].write(bytes, () => resolve())),
    async readInput() {
      const chunks: Buffer[] = [];
      for await (const chunk of streams.stdin) chunks.push(Buffer.from(chunk));
      return Buffer.concat(chunks);
    },
  };
}
