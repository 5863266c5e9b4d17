import { serveUntilSignal } from "@drover/runtime";
import { letGo } from "./let-go.ts";

await serveUntilSignal("orchestrator", async (environment) => {
  await letGo(environment);
  // Loaded now and not above: it takes longer than everything else of a start.
  const { startOrchestrator } = await import("./wiring.ts");
  return await startOrchestrator(environment);
});
