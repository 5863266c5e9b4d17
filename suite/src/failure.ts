import { DroverError } from "@drover/kernel";
import { ConfigurationError } from "@drover/runtime";

/** A failure of a command of the suite as a person is told of it. */
export class SuiteFailure extends Error {
  /** One sentence: what to do. */
  readonly advice: string;

  constructor(message: string, advice: string) {
    super(message);
    this.name = "SuiteFailure";
    this.advice = advice;
  }
}

/** What happened and what to do, one sentence each. */
export function sentencesOf(thrown: unknown): readonly [what: string, advice: string] {
  const error = rootOf(thrown);
  if (error instanceof SuiteFailure) return [error.message, error.advice];
  if (error instanceof ConfigurationError) {
    const faults = error.faults.map(({ variable, problem }) => `${variable}: ${problem}`);
    return [`The configuration is not valid: ${faults.join("; ")}.`, "Correct what is named and start again."];
  }
  if (error instanceof DroverError) return [error.message, droverAdvice(error)];
  const system = systemSentences(error);
  if (system !== undefined) return system;
  return [`It went wrong: ${error.message}`, "DROVER_LOG_LEVEL=debug shows where it happened."];
}

/** The error that came first, where giving things back failed as well. */
function rootOf(thrown: unknown): Error {
  if (thrown instanceof SuppressedError) return rootOf(thrown.suppressed);
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

function droverAdvice(error: DroverError): string {
  return error.reason === "DATA_FOLDER_IN_USE"
    ? "Another folder is chosen with DROVER_DATA."
    : "DROVER_LOG_LEVEL=debug shows where it happened.";
}

const fileFaults: Readonly<Record<string, string>> = {
  EACCES: "this user may not use it",
  EEXIST: "it is no folder",
  ENOTDIR: "a part of it is no folder",
  ENOENT: "it is not there and cannot be made",
  ENOSPC: "the disk is full",
  EPERM: "this user may not use it",
  EROFS: "it is read-only",
};

/** The sentences for a failed call of the operating system; undefined for any other error. */
function systemSentences(error: Error): readonly [string, string] | undefined {
  const { code, syscall, path, address, port }: Partial<Record<string, unknown>> = { ...error };
  if (typeof code !== "string") return undefined;
  if (syscall === "listen" || syscall === "bind" || syscall === "getaddrinfo") {
    const place = port === undefined ? "The address" : `${address}:${port}`;
    return code === "EADDRINUSE"
      ? [`${place} is in use.`, "End what uses it, or choose another address with DROVER_LISTEN."]
      : [`${place} cannot be listened on (${code}).`, "Choose an address of this machine with DROVER_LISTEN."];
  }
  const fault = fileFaults[code];
  if (fault === undefined || typeof path !== "string") return undefined;
  return [`${path} cannot be used: ${fault}.`, "Correct that, or choose another folder for the data with DROVER_DATA."];
}
