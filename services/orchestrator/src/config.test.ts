import { ConfigurationError } from "@drover/runtime";
import { expect, test } from "vitest";
import { readConfig } from "./config.ts";

const needed = {
  DATABASE_URL: "postgres://x",
  DROVER_IDENTITY_PUBLIC_KEYS: "{}",
  DROVER_IDENTITY_PRIVATE_KEY: "{}",
  SANDBOX_ADDRESS: "a:1",
  RAG_ADDRESS: "b:1,b:2",
  MEMORY_ADDRESS: "dns:///memory:7704",
  TRACE_ADDRESS: "trace:7705",
  OPENAI_API_KEY: "k",
};

test("the defaults are those of the README", () => {
  expect(readConfig(needed)).toMatchObject({
    DROVER_LISTEN: "127.0.0.1:7701",
    DROVER_ADMIN_LISTEN: "127.0.0.1:7801",
    DROVER_MAX_ROUNDS: 10,
    DROVER_LEASE_TTL_MS: 15_000,
    DROVER_WORKER_SLOTS: 4,
    DROVER_SPILL_THRESHOLD: 32_000,
    DROVER_SPILL_PREVIEW: 2_048,
    DROVER_VIEW_CAP: 8_000,
    DROVER_WATCH_HEARTBEAT_MS: 15_000,
    RAG_ADDRESS: ["b:1", "b:2"],
  });
});

test("every fault is told by name, and no value is", () => {
  const bad = { ...needed, OPENAI_BASE_URL: "ftp://secret", DROVER_MAX_ROUNDS: "51", SANDBOX_ADDRESS: "" };
  const fault = (() => {
    try {
      readConfig(bad);
    } catch (error) {
      return error;
    }
  })();
  expect(fault).toBeInstanceOf(ConfigurationError);
  const { faults, message } = fault as ConfigurationError;
  expect(faults.map((f) => f.variable).sort()).toEqual(["DROVER_MAX_ROUNDS", "OPENAI_BASE_URL", "SANDBOX_ADDRESS"]);
  expect(message).not.toContain("secret");
});
