import { connectNats } from "@drover/bus";
import { createLogger, serveUntilSignal } from "@drover/runtime";
import { startOrchestrator } from "../../src/wiring.ts";
import { disturbedBus } from "./disturbed-bus.ts";
import { type InterceptPlan, intercept } from "./intercept.ts";

/** The service as `src/main.ts` starts it, with failures by the plan that is its one argument. */
const plan: InterceptPlan = JSON.parse(process.argv[2] ?? "{}");

await serveUntilSignal("orchestrator", async (environment) => {
  const { disturbBus } = plan;
  const parts = { intercept: (record: Parameters<typeof intercept>[1]) => intercept(plan, record) };
  if (disturbBus === undefined) return await startOrchestrator(environment, parts);
  const logger = createLogger({ service: "orchestrator", level: "warn" });
  const bus = await connectNats({ url: String(environment.NATS_URL), logger, name: plan.owner });
  return await startOrchestrator(environment, { ...parts, bus: disturbedBus(bus, disturbBus) });
});
