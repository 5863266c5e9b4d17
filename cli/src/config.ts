import { readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { exitCodes } from "./exit-codes.ts";
import { CommandFailure, usageFailure } from "./failure.ts";

/** Where to call. */
export interface Target {
  /** The gateway's address as people write it, without a slash at its end. */
  readonly url: string;
  /** `host:port`. */
  readonly address: string;
  /** The host is this machine's loopback. */
  readonly local: boolean;
}

/** The key to call with, and where it is from, for messages. */
export interface Key {
  readonly text: string;
  readonly source: string;
}

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

const defaultUrl = "http://localhost:7700";
const keyFiles = [join(".drover", "embedded", "api-key"), join(".drover", "distributed", "api-key")];

/** The target of `--url`, else `DROVER_URL`, else http://localhost:7700. Throws a usage failure for what is no such address. */
export function targetOf(option: string | undefined, environment: Environment): Target {
  const source = option !== undefined ? "--url" : "DROVER_URL";
  const text = option ?? (environment.DROVER_URL || defaultUrl);
  const url = URL.parse(text);
  const allowed = `Give an address such as ${defaultUrl}.`;
  if (url?.protocol === "https:") {
    throw usageFailure(
      `${source}: https is not supported yet.`,
      "Use http:// to a gateway in a network you trust, or end TLS in a local proxy.",
    );
  }
  if (url?.protocol !== "http:" || url.hostname === "") {
    throw usageFailure(`${source}: ${JSON.stringify(text)} is no http:// address.`, allowed);
  }
  if (url.username !== "" || url.password !== "" || url.pathname !== "/" || url.search !== "" || url.hash !== "") {
    throw usageFailure(`${source}: the address has more than a host and a port.`, allowed);
  }
  const local = url.hostname === "localhost" || url.hostname === "[::1]" || /^127\.[\d.]+$/.test(url.hostname);
  return { url: url.origin, address: `${url.hostname}:${url.port || "80"}`, local };
}

/**
 * The key of `--key`, else `DROVER_API_KEY`, else of the newest `.drover/<profile>/api-key` in the nearest folder
 * from `cwd` upwards that has one. A file's key goes to this machine only. Throws a failure with exit code 4 where there is none.
 */
export function keyOf(option: string | undefined, environment: Environment, cwd: string, target: Target): Key {
  if (option !== undefined) return checked({ text: option.trim(), source: "--key" });
  const variable = environment.DROVER_API_KEY?.trim();
  if (variable) return checked({ text: variable, source: "DROVER_API_KEY" });
  const file = nearestKeyFile(cwd);
  if (file === undefined) {
    throw noKey("There is no API key.", "Set DROVER_API_KEY, or run where .drover/<profile>/api-key can be found.");
  }
  if (!target.local) {
    throw noKey(
      `The key in ${file} is not sent to another machine.`,
      `Set DROVER_API_KEY to the key for ${target.url}.`,
    );
  }
  return checked({ text: readFileSync(file, "utf8").trim(), source: file });
}

function checked(key: Key): Key {
  if (/^[\x21-\x7e]+$/.test(key.text)) return key;
  throw noKey(`${key.source} holds no API key.`, "A key is one word that begins with drv_.");
}

function noKey(message: string, advice: string): CommandFailure {
  return new CommandFailure(message, advice, exitCodes.auth, "UNAUTHENTICATED");
}

function nearestKeyFile(cwd: string): string | undefined {
  for (let folder = cwd; ; folder = dirname(folder)) {
    const found = keyFiles
      .map((name) => join(folder, name))
      .map((path) => ({ path, facts: statSync(path, { throwIfNoEntry: false }) }))
      .filter(({ facts }) => facts?.isFile())
      .sort((a, b) => (b.facts?.mtimeMs ?? 0) - (a.facts?.mtimeMs ?? 0));
    if (found[0] !== undefined) return found[0].path;
    if (dirname(folder) === folder) return undefined;
  }
}
