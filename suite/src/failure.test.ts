import { DroverError } from "@drover/kernel";
import { ConfigurationError } from "@drover/runtime";
import { expect, test } from "vitest";
import { SuiteFailure, sentencesOf } from "./failure.ts";

const systemError = (facts: Record<string, unknown>) => Object.assign(new Error("raw text"), facts);

test.each([
  [
    systemError({ code: "EADDRINUSE", syscall: "listen", address: "127.0.0.1", port: 7700 }),
    "127.0.0.1:7700 is in use.",
  ],
  [systemError({ code: "ENOTFOUND", syscall: "getaddrinfo" }), "The address cannot be listened on (ENOTFOUND)."],
  [systemError({ code: "EROFS", syscall: "mkdir", path: "/ro/x" }), "/ro/x cannot be used: it is read-only."],
  [
    new ConfigurationError([{ variable: "DROVER_LISTEN", problem: "allowed: host:port" }]),
    "The configuration is not valid: DROVER_LISTEN: allowed: host:port.",
  ],
  [new DroverError("FAILED_PRECONDITION", "It is in use.", { reason: "DATA_FOLDER_IN_USE" }), "It is in use."],
  [new SuiteFailure("It is so.", "Do this."), "It is so."],
  [systemError({ code: "ESTRANGE" }), "It went wrong: raw text"],
  ["thrown text", "It went wrong: thrown text"],
])("%s is said in two sentences without a stack", (error, what) => {
  const [said, advice] = sentencesOf(error);
  expect(said).toBe(what);
  expect(advice).toMatch(/^[A-Z][^\n]+\.$/);
});

test("of a failure that came while another was cleaned up after, the first is told", () => {
  const both = new SuppressedError(new Error("second"), new SuiteFailure("First.", "Do this."), "");
  expect(sentencesOf(both)).toEqual(["First.", "Do this."]);
});
