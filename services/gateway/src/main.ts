import { serveUntilSignal } from "@drover/runtime";
import { startGateway } from "./wiring.ts";

await serveUntilSignal("gateway", startGateway);
