import { clone } from "@bufbuild/protobuf";
import { DroverError, newId } from "@drover/kernel";
import {
  type Execution,
  ExecutionSchema,
  type OutputFacts,
  OutputStream,
  Verdict,
  VerdictSchema,
} from "@drover/proto/sandbox/v1/exec";
import { ExecService, type RunData } from "@drover/proto/sandbox/v1/exec_service";
import { exitCodes } from "../exit-codes.ts";
import { usageFailure } from "../failure.ts";
import { jsonBytes, jsonOf, printJson } from "../json-output.ts";
import { readSource } from "../local-files.ts";
import { countOf } from "../render/figures.ts";
import { nameIn } from "../render/names.ts";
import type { Session } from "../session.ts";
import type { Terminal } from "../terminal.ts";

/** What is run. */
export interface ExecOptions {
  readonly language: string;
  /** Path of the program's text, `-` for standard input. */
  readonly source: string;
  /** Path of its standard input, `-` for ours; undefined means none. */
  readonly stdin: string | undefined;
  readonly arguments: readonly string[];
}

type StreamName = "stdout" | "stderr";

/** Bytes of one of a program's two streams, in order; each is written or kept exactly once. */
interface Sink {
  take(stream: StreamName, bytes: Uint8Array): Promise<void>;
  readonly seen: Record<StreamName, number>;
}

/**
 * Runs a program in the sandbox. Its output goes out byte for byte as it comes; the exit code is the program's own where it
 * ended by itself, else 1 with a sentence on standard error.
 */
export async function exec(session: Session, options: ExecOptions): Promise<number> {
  const { terminal } = session;
  if (options.source === "-" && options.stdin === "-") {
    throw usageFailure("The program and its --stdin cannot both be standard input.", "Give one of them as a file.");
  }
  const code = codeOf(await readSource(options.source, terminal), options.source);
  const stdin = options.stdin === undefined ? new Uint8Array() : await readSource(options.stdin, terminal);
  const kept: Record<StreamName, Uint8Array[]> = { stdout: [], stderr: [] };
  const sink = sinkTo(
    session.json
      ? async (stream, bytes) => void kept[stream].push(bytes)
      : (stream, bytes) => terminal.writeBytes(stream, bytes),
  );
  const request = { callId: newId(), language: options.language, code, stdin, arguments: [...options.arguments] };
  const execution = await follow(session, request, sink);
  if (!session.json) await sayCompiler(terminal, execution);
  await sink.take("stdout", unseen(execution.stdout, sink.seen.stdout));
  await sink.take("stderr", unseen(execution.stderr, sink.seen.stderr));
  if (session.json) printJson(terminal, documentOf(execution, kept));
  else sayDrops(terminal, execution, sink.seen);
  return exitCodeOf(terminal, execution);
}

async function follow(
  session: Session,
  request: { callId: string; language: string; code: string; stdin: Uint8Array; arguments: string[] },
  sink: Sink,
): Promise<Execution> {
  for await (const { event } of session.client(ExecService).run(request, { signal: session.signal })) {
    if (event.case === "data") await sink.take(nameOf(event.value), event.value.data);
    if (event.case === "ended" && event.value.execution !== undefined) return event.value.execution;
  }
  throw new DroverError("UNAVAILABLE", "The stream of the run ended before the run did.");
}

function sinkTo(take: Sink["take"]): Sink {
  const seen = { stdout: 0, stderr: 0 };
  return {
    seen,
    async take(stream, bytes) {
      if (bytes.length === 0) return;
      seen[stream] += bytes.length;
      await take(stream, bytes);
    },
  };
}

function nameOf({ stream }: RunData): StreamName {
  return stream === OutputStream.STDERR ? "stderr" : "stdout";
}

/** What the stream did not bring of an output that was kept whole. */
function unseen(facts: OutputFacts | undefined, seen: number): Uint8Array {
  if (facts === undefined || facts.bytesDropped > 0n) return new Uint8Array();
  return Buffer.concat([facts.head, facts.tail]).subarray(seen);
}

function codeOf(bytes: Uint8Array, source: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw usageFailure(
      `${source === "-" ? "Standard input" : source} is not UTF-8 text.`,
      "Give a program's source text.",
    );
  }
}

function documentOf(execution: Execution, kept: Record<StreamName, Uint8Array[]>) {
  const { stdout, stderr } = execution;
  const outputOf = (name: StreamName, facts: OutputFacts | undefined) => ({
    ...jsonBytes(Buffer.concat(kept[name])),
    ...(facts !== undefined && facts.bytesDropped > 0n ? { tail: jsonBytes(facts.tail) } : {}),
  });
  const streams = { stdout: outputOf("stdout", stdout), stderr: outputOf("stderr", stderr) };
  const compiler = execution.compile === undefined ? {} : { compiler: jsonBytes(compilerOutput(execution)) };
  return { execution: jsonOf(ExecutionSchema, withoutBytes(execution)), ...compiler, ...streams };
}

function withoutBytes(execution: Execution): Execution {
  const bare = clone(ExecutionSchema, execution);
  for (const facts of [bare.stdout, bare.stderr, bare.compile?.stdout, bare.compile?.stderr]) {
    if (facts !== undefined) Object.assign(facts, { head: new Uint8Array(), tail: new Uint8Array() });
  }
  return bare;
}

/** What a compiler wrote, errors last; a line stands for what was dropped. */
function compilerOutput({ compile }: Execution): Uint8Array {
  const parts = [compile?.stdout, compile?.stderr].flatMap((facts) => {
    if (facts === undefined) return [];
    const gap = facts.bytesDropped === 0n ? "" : `\n[${countOf(facts.bytesDropped)} bytes are missing here]\n`;
    return [facts.head, Buffer.from(gap), facts.tail];
  });
  return Buffer.concat(parts);
}

async function sayCompiler(terminal: Terminal, execution: Execution): Promise<void> {
  const output = compilerOutput(execution);
  if (output.length > 0) await terminal.writeBytes("stderr", output);
}

function sayDrops(terminal: Terminal, { stdout, stderr }: Execution, shown: Record<StreamName, number>): void {
  for (const [name, facts] of [["stdout", stdout] as const, ["stderr", stderr] as const]) {
    if (facts === undefined || facts.bytesDropped === 0n) continue;
    const missing = countOf(facts.bytesSeen - BigInt(shown[name]));
    terminal.complain(
      `[${missing} bytes of ${name} are missing: over the output limit; --json also has the last ${countOf(facts.tail.length)}]`,
    );
  }
}

function exitCodeOf(terminal: Terminal, execution: Execution): number {
  if (execution.verdict === Verdict.EXITED) return execution.exitCode ?? exitCodes.ok;
  const signal = execution.signal === "" ? "" : ` by ${execution.signal}`;
  const known = execution.signal !== "" && execution.message.includes(execution.signal);
  const said = execution.message === "" || known ? "" : ` ${execution.message}`;
  terminal.complain(`The program did not end by itself: ${nameIn(VerdictSchema, execution.verdict)}${signal}.${said}`);
  return exitCodes.failed;
}
