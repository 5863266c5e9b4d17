import { expect, test } from "vitest";
import { commonVariables } from "./common-variables.ts";
import { ConfigurationError, parseEnvironment } from "./environment.ts";
import { env } from "./variables.ts";

function faultsOf(work: () => unknown): Record<string, string> {
  try {
    work();
  } catch (error) {
    if (error instanceof ConfigurationError) {
      return Object.fromEntries(error.faults.map(({ variable, problem }) => [variable, problem]));
    }
    throw error;
  }
  return {};
}

test("values are read by their kind, and the result is frozen", () => {
  const parsed = parseEnvironment(
    { A: "text", B: "12", C: "4MiB", D: "250", E: "true", F: "warn", G: "[::1]:0", H: "a, b,,c", I: " padded " },
    {
      A: env.text(),
      B: env.integer({ min: 1 }),
      C: env.bytes(),
      D: env.milliseconds(),
      E: env.flag(),
      F: env.choice(["info", "warn"]),
      G: env.address(),
      H: env.list(),
      I: env.secret(),
    },
  );
  expect(parsed).toEqual({
    A: "text",
    B: 12,
    C: 4 * 1024 ** 2,
    D: 250,
    E: true,
    F: "warn",
    G: "[::1]:0",
    H: ["a", "b", "c"],
    I: "padded",
  });
  expect(Object.isFrozen(parsed)).toBe(true);
});

test("defaults and optional variables stand in for what is unset or empty", () => {
  expect(
    parseEnvironment(
      { EMPTY: "" },
      { EMPTY: env.integer({ default: 7 }), UNSET: env.flag({ default: false }), MAYBE: env.secret().optional() },
    ),
  ).toEqual({ EMPTY: 7, UNSET: false, MAYBE: undefined });
});

test("every fault is listed by name, and no value is shown", () => {
  const secret = "hunter2-hunter2";
  const spec = {
    MISSING: env.secret(),
    NUMBER: env.integer({ min: 1, max: 9 }),
    WORD: env.choice(["a", "b"]),
    PATTERN: env.text({ pattern: /^[a-z]+$/, allowed: "lower-case letters" }),
    ADDRESS: env.address(),
    FLAG: env.flag(),
    SIZE: env.bytes(),
    LIST: env.list(),
  };
  const environment = {
    NUMBER: secret,
    WORD: secret,
    PATTERN: secret,
    ADDRESS: secret,
    FLAG: secret,
    SIZE: secret,
    LIST: ",",
  };
  const faults = faultsOf(() => parseEnvironment(environment, spec));
  expect(Object.keys(faults).sort()).toEqual(Object.keys(spec).sort());
  expect(JSON.stringify(faults)).not.toContain(secret);
  expect(faults.MISSING).toContain("required");
  expect(faults.PATTERN).toContain("lower-case letters");
});

test.each(["-1", "1.5", "0x10", "1e3", "99999999999999999", "10", "0"])("the integer %s is refused", (raw) => {
  expect(faultsOf(() => parseEnvironment({ N: raw }, { N: env.integer({ min: 1, max: 9 }) }))).toHaveProperty("N");
});

test.each(["host", "host:", "host:70000", ":80", "a b:80", "host:80/path", "::1:80"])(
  "the address %s is refused",
  (raw) => {
    expect(faultsOf(() => parseEnvironment({ A: raw }, { A: env.address() }))).toHaveProperty("A");
  },
);

test("the variables that every service has", () => {
  const parsed = parseEnvironment(
    { DATABASE_URL: "postgres://x", DROVER_IDENTITY_PUBLIC_KEYS: "{}" },
    commonVariables(7702),
  );
  expect(parsed.DROVER_LISTEN).toBe("127.0.0.1:7702");
  expect(parsed.DROVER_ADMIN_LISTEN).toBe("127.0.0.1:7802");
  expect(parsed.DROVER_MAX_MESSAGE_BYTES).toBe(4_194_304);
  expect(parsed.NATS_URL).toBeUndefined();
});
