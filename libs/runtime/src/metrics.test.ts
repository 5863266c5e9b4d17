import { expect, test } from "vitest";
import { createMetrics } from "./metrics.ts";

test("metrics are rendered with the service and with the process's own", async () => {
  const metrics = createMetrics("sandbox");
  const runs = metrics.counter({ name: "drover_runs_total", help: "Runs.", labels: ["language"] });
  runs.inc({ language: "python" });
  runs.inc({ language: "python" }, 2);
  metrics.gauge({ name: "drover_warm", help: "Warm.", read: () => 4 });
  metrics.histogram({ name: "drover_run_seconds", help: "Time.", labels: ["code"] }).bind({ code: "OK" })(0.02);
  const text = await metrics.render();
  expect(text).toContain('drover_runs_total{language="python",service="sandbox"} 3');
  expect(text).toContain('drover_warm{service="sandbox"} 4');
  expect(text).toMatch(/drover_run_seconds_bucket\{.*le="0.025".*\} 1/);
  expect(text).toContain("process_cpu_seconds_total");
});

test("two services in one process keep their metrics apart, and asking twice gives the same metric", async () => {
  const one = createMetrics("one");
  const two = createMetrics("two");
  one.counter({ name: "drover_x_total", help: "X." }).inc();
  one.counter({ name: "drover_x_total", help: "X." }).inc();
  two.counter({ name: "drover_x_total", help: "X." }).inc();
  expect(await one.render()).toContain('drover_x_total{service="one"} 2');
  expect(await two.render()).toContain('drover_x_total{service="two"} 1');
  expect(() => one.gauge({ name: "drover_x_total", help: "X." })).toThrow(TypeError);
});
