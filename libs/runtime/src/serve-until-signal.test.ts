import { EventEmitter } from "node:events";
import { expect, test, vi } from "vitest";
import { ConfigurationError } from "./environment.ts";
import { createLogger } from "./logger.ts";
import { processRegistry } from "./process-registry.ts";
import type { RunningService } from "./running-service.ts";
import { serveUntilSignal } from "./serve-until-signal.ts";

function host() {
  const emitter = new EventEmitter();
  const exits: number[] = [];
  const lines: string[] = [];
  return {
    env: { DROVER_SHUTDOWN_GRACE_MS: "50" },
    on: (event: string, listener: (argument: unknown) => void) => emitter.on(event, listener),
    exit: (code: number) => void exits.push(code),
    emit: (event: string, argument?: unknown) => emitter.emit(event, argument),
    exits,
    lines,
    logger: createLogger({ service: "test", destination: { write: (line) => void lines.push(line) } }),
  };
}

function service(dispose: () => Promise<void> = async () => {}): RunningService {
  return { name: "test", address: "127.0.0.1:1", adminAddress: "127.0.0.1:2", [Symbol.asyncDispose]: dispose };
}

test("a signal disposes of the service and exits with 0", async () => {
  const process = host();
  const dispose = vi.fn(async () => {});
  const served = serveUntilSignal("test", async () => service(dispose), process, process.logger);
  await expect.poll(() => process.lines.join("")).toContain("serving");
  expect(dispose).not.toHaveBeenCalled();
  process.emit("SIGTERM");
  await served;
  expect(dispose).toHaveBeenCalledOnce();
  expect(process.exits).toEqual([0]);
});

test("a second signal exits at once, a drain that fails exits with 1", async () => {
  const process = host();
  const drain = Promise.withResolvers<void>();
  const served = serveUntilSignal("test", async () => service(() => drain.promise), process, process.logger);
  process.emit("SIGTERM");
  process.emit("SIGINT");
  expect(process.exits).toEqual([130]);
  drain.reject(new Error("stuck"));
  await served;
  expect(process.exits).toEqual([130, 1]);
});

test("a drain that takes too long exits with 1", async () => {
  vi.useFakeTimers();
  try {
    const process = host();
    void serveUntilSignal("test", async () => service(() => new Promise(() => {})), process, process.logger);
    process.emit("SIGTERM");
    await vi.advanceTimersByTimeAsync(5049);
    expect(process.exits).toEqual([]);
    await vi.advanceTimersByTimeAsync(2);
    expect(process.exits).toEqual([1]);
  } finally {
    vi.useRealTimers();
  }
});

test("a bad configuration lists its faults and exits with 1", async () => {
  const process = host();
  const start = () => Promise.reject(new ConfigurationError([{ variable: "NATS_URL", problem: "is required" }]));
  await serveUntilSignal("test", start, process, process.logger);
  expect(process.exits).toEqual([1]);
  expect(process.lines.join("")).toContain("NATS_URL");
});

test("an unhandled rejection is logged, counted and exits with 1", async () => {
  const process = host();
  void serveUntilSignal("test", async () => service(), process, process.logger);
  process.emit("unhandledRejection", new Error("nobody caught this"));
  expect(process.exits).toEqual([1]);
  expect(process.lines.join("")).toContain("nobody caught this");
  expect(await processRegistry().metrics()).toContain('drover_process_faults_total{kind="unhandled_rejection"} 1');
});
