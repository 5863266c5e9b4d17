import { serveUntilSignal } from "@drover/runtime";
import { startOrchestrator } from "./wiring.ts";

await serveUntilSignal("orchestrator", startOrchestrator);
