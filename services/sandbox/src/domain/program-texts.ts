import type { FieldViolation } from "@drover/kernel";

/** What a program is told besides its files: its arguments (or a command line) and its variables. */
export interface ProgramTexts {
  /** Name of the field in the request that `arguments` come from. */
  readonly field: "arguments" | "command";
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** Of each: arguments, and variables. */
const most = 256;
/** Linux takes at most 131,071 bytes in one argument, or in one variable as `NAME=value`. */
const maxTextBytes = 128 * 1024 - 1;
/** All of them travel to process 1 in one frame of at most 1 MiB, with the language's own. */
const maxTogetherBytes = 1_000_000;
const name = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/;

/** Everything that is wrong with what a program shall be told; the one check of runs and of commands. */
export function programTextFaults(texts: ProgramTexts): readonly FieldViolation[] {
  const faults = [...argumentFaults(texts), ...environmentFaults(texts.environment)];
  return faults.length > 0 ? faults : togetherFaults(texts);
}

function argumentFaults({ field, arguments: given }: ProgramTexts): FieldViolation[] {
  if (given.length > most) return [{ field, found: `${given.length}`, allowed: `at most ${most}` }];
  return given.flatMap((text, index) => textFaults(field === "command" ? field : `${field}[${index}]`, text));
}

function environmentFaults(environment: ProgramTexts["environment"]): FieldViolation[] {
  const entries = Object.entries(environment);
  if (entries.length > most) return [{ field: "environment", found: `${entries.length}`, allowed: `at most ${most}` }];
  return entries.flatMap(([key, value]) =>
    name.test(key)
      ? textFaults(`environment[${key}]`, `${key}=${value}`)
      : [{ field: "environment", found: JSON.stringify(key.slice(0, 40)), allowed: "[A-Za-z_][A-Za-z0-9_]*" }],
  );
}

function textFaults(field: string, text: string): FieldViolation[] {
  if (text.includes("\u0000")) return [{ field, found: "a NUL", allowed: "text without NUL" }];
  const bytes = bytesOf(text);
  return bytes > maxTextBytes ? [{ field, found: `${bytes} bytes`, allowed: `at most ${maxTextBytes}` }] : [];
}

function togetherFaults({ field, arguments: given, environment }: ProgramTexts): FieldViolation[] {
  const bytes = bytesOf(JSON.stringify([given, environment]));
  if (bytes <= maxTogetherBytes) return [];
  const found = `${bytes} bytes together with the environment`;
  return [{ field, found, allowed: `at most ${maxTogetherBytes}, written as JSON` }];
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
