import { DroverError } from "@drover/kernel";
import { expect, test } from "vitest";
import { type ReadinessChecks, startAdminServer } from "./admin-server.ts";
import { createLogger } from "./logger.ts";
import { createMetrics } from "./metrics.ts";

const logger = createLogger({ service: "test", level: "silent" });

async function withAdmin(ready: ReadinessChecks, work: (url: string) => Promise<void>): Promise<void> {
  await using server = await startAdminServer({ listen: "127.0.0.1:0", metrics: createMetrics("test"), ready, logger });
  await work(`http://${server.address}`);
}

test("liveness and metrics", async () => {
  await withAdmin({}, async (url) => {
    expect((await fetch(`${url}/livez`)).status).toBe(200);
    const metrics = await fetch(`${url}/metrics`);
    expect(metrics.headers.get("content-type")).toContain("text/plain; version=0.0.4");
    expect(await metrics.text()).toContain("process_cpu_seconds_total");
    expect((await fetch(`${url}/other`)).status).toBe(404);
    expect((await fetch(`${url}/livez`, { method: "POST" })).status).toBe(405);
  });
});

test("readiness names each check; a false, a throw and a hang all fail it, and no cause leaks", async () => {
  const checks: ReadinessChecks = {
    good: () => true,
    bad: () => false,
    down: () => Promise.reject(new DroverError("UNAVAILABLE", "Postgres is away.")),
    secret: () => Promise.reject(new Error("password=hunter2")),
    hangs: () => new Promise(() => {}),
  };
  await withAdmin(checks, async (url) => {
    const response = await fetch(`${url}/readyz`);
    expect(response.status).toBe(503);
    const report = await response.json();
    expect(report).toMatchObject({
      ready: false,
      checks: { good: "ok", bad: "failed", down: "failed: Postgres is away.", secret: "failed" },
    });
    expect(JSON.stringify(report)).not.toContain("hunter2");
    expect(Object(report).checks.hangs).toContain("failed: The check hangs took longer");
  });
  await withAdmin({ good: () => undefined }, async (url) => expect((await fetch(`${url}/readyz`)).status).toBe(200));
});

test("an address that is taken is an error", async () => {
  await withAdmin({}, async (url) => {
    const listen = url.slice("http://".length);
    await expect(startAdminServer({ listen, metrics: createMetrics("x"), ready: {}, logger })).rejects.toThrow(
      "EADDRINUSE",
    );
  });
});
