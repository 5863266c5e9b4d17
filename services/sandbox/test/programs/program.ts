import { type Execution, Verdict } from "@drover/proto/sandbox/v1/exec";
import { expect } from "vitest";
import { onGvisor, type RunOptions, type RunSeen, type SandboxUnderTest } from "../sandbox-under-test.ts";

/** One program and what must come of it. */
export interface Program {
  readonly name: string;
  readonly language: string;
  readonly code: string;
  readonly options?: Omit<RunOptions, "signal" | "onEvent" | "tenant">;
  /** What the execution must say at least; without it the program must exit with 0 and no memory be missed. */
  readonly execution?: Partial<Pick<Execution, "verdict" | "exitCode" | "signal" | "killedBy" | "oomSeen" | "message">>;
  /** Exact bytes of the stream, where given; text stands for its UTF-8. */
  readonly stdout?: string | Uint8Array;
  readonly stderr?: string | Uint8Array;
  /** Further claims. */
  readonly check?: (seen: RunSeen) => void;
  /** What is really different on gVisor, in place of the same field above, and why. */
  readonly gvisor?: Pick<Program, "execution" | "stdout" | "check"> & { readonly code?: string; readonly why: string };
}

const wellEnded = { verdict: Verdict.EXITED, exitCode: 0, signal: "", killedBy: "", oomSeen: false };

/** Runs the program as a caller does and holds it against its row. */
export async function tryProgram(sandbox: SandboxUnderTest, row: Program): Promise<void> {
  const program = onGvisor() ? { ...row, ...row.gvisor } : row;
  const seen = await sandbox.run(program.language, program.code, program.options);
  const told = `${seen.execution.message} ${tail(seen.stdout)} ${tail(seen.stderr)}`;
  expect(seen.execution, told).toMatchObject(program.execution ?? wellEnded);
  if (program.stdout !== undefined) expectBytes(seen.stdout, program.stdout);
  if (program.stderr !== undefined) expectBytes(seen.stderr, program.stderr);
  program.check?.(seen);
}

function expectBytes(got: Buffer, expected: string | Uint8Array): void {
  const bytes = Buffer.from(expected as string);
  // A diff of megabytes helps nobody.
  if (bytes.length < 2000) expect(got.toString("latin1")).toBe(bytes.toString("latin1"));
  else expect([got.length, got.equals(bytes)]).toEqual([bytes.length, true]);
}

function tail(output: Buffer): string {
  return output.subarray(-300).toString();
}
