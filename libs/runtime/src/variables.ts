import { type Variable, VariableFault } from "./environment.ts";

interface Default<T> {
  /** Used when the variable is unset; without it the variable is required. */
  readonly default?: T;
}

interface Range extends Default<number> {
  readonly min?: number;
  readonly max?: number;
}

const units: Readonly<Record<string, number>> = { "": 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** Builders for the variables of a service's environment, to be used with `parseEnvironment`. */
export const env = {
  /** Text of at most 4,096 characters, kept as it is; with `pattern` it must match it as a whole. */
  text(options: Default<string> & { readonly pattern?: RegExp; readonly allowed?: string } = {}): Variable<string> {
    return variable("text", options.default, (raw) => {
      if (raw.length > 4096) throw new VariableFault("allowed: at most 4,096 characters");
      if (options.pattern?.test(raw) === false) {
        throw new VariableFault(`allowed: ${options.allowed ?? `text that matches ${options.pattern}`}`);
      }
      return raw;
    });
  },

  /** A secret: text of any length, which no fault and no log ever shows. */
  secret(options: Default<string> = {}): Variable<string> {
    return variable("a secret", options.default, (raw) => raw);
  },

  /** A whole number in `min..max`, both included. */
  integer(options: Range = {}): Variable<number> {
    return ranged("a whole number", options, (raw) => (/^-?\d{1,15}$/.test(raw) ? Number(raw) : undefined));
  },

  /** A number of bytes, plain or with KiB, MiB or GiB: `4194304` and `4MiB` are the same. */
  bytes(options: Range = {}): Variable<number> {
    return ranged("a number of bytes (plain, or with KiB, MiB, GiB)", { min: 0, ...options }, (raw) => {
      const match = /^(\d{1,15}) ?(KiB|MiB|GiB|)$/.exec(raw);
      return match === null ? undefined : Number(match[1]) * (units[match[2] ?? ""] ?? 1);
    });
  },

  /** A whole number of milliseconds. */
  milliseconds(options: Range = {}): Variable<number> {
    return ranged("a whole number of milliseconds", { min: 0, ...options }, (raw) =>
      /^\d{1,15}$/.test(raw) ? Number(raw) : undefined,
    );
  },

  /** `true` or `false`. */
  flag(options: Default<boolean> = {}): Variable<boolean> {
    return variable("true or false", options.default, (raw) => {
      if (raw !== "true" && raw !== "false") throw new VariableFault("allowed: true or false");
      return raw === "true";
    });
  },

  /** One of the given words. */
  choice<const Word extends string>(words: readonly Word[], options: Default<NoInfer<Word>> = {}): Variable<Word> {
    const allowed = `one of ${words.join(", ")}`;
    return variable(allowed, options.default, (raw) => {
      const word = words.find((candidate) => candidate === raw);
      if (word === undefined) throw new VariableFault(`allowed: ${allowed}`);
      return word;
    });
  },

  /** `host:port` to listen on or to connect to; an IPv6 host stands in brackets, port 0 means any free one. */
  address(options: Default<string> = {}): Variable<string> {
    return variable("host:port", options.default, (raw) => {
      if (!isAddress(raw)) throw new VariableFault("allowed: host:port");
      return raw;
    });
  },

  /** Items between commas, trimmed, without empty ones; at least one. */
  list(options: Default<readonly string[]> = {}): Variable<readonly string[]> {
    return variable("a comma list", options.default, (raw) => {
      const items = raw.split(",").map((item) => item.trim());
      const kept = items.filter((item) => item !== "");
      if (kept.length === 0) throw new VariableFault("allowed: at least one item, with commas between them");
      return Object.freeze(kept);
    });
  },
} as const;

function variable<T>(allowed: string, fallback: T | undefined, parse: (raw: string) => T): Variable<T> {
  return {
    parse,
    absent() {
      if (fallback === undefined) throw new VariableFault(`is required and not set; allowed: ${allowed}`);
      return fallback;
    },
    optional: () => optional(parse, fallback),
  };
}

function optional<T>(parse: (raw: string) => T, fallback: T | undefined): Variable<T | undefined> {
  const self: Variable<T | undefined> = { parse, absent: () => fallback, optional: () => self };
  return self;
}

function ranged(what: string, range: Range, read: (raw: string) => number | undefined): Variable<number> {
  const { min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = range;
  const bounds =
    range.min === undefined && range.max === undefined ? "" : `, ${range.min ?? "any"} to ${range.max ?? "any"}`;
  return variable(`${what}${bounds}`, range.default, (raw) => {
    const value = read(raw);
    if (value === undefined || value < min || value > max) throw new VariableFault(`allowed: ${what}${bounds}`);
    return value;
  });
}

function isAddress(raw: string): boolean {
  const match = /^(?:\[[0-9A-Fa-f:.%]+\]|[A-Za-z0-9._-]+):(\d{1,5})$/.exec(raw);
  return match !== null && Number(match[1]) <= 65_535;
}
