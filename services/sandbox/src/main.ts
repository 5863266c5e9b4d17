import { serveUntilSignal } from "@drover/runtime";
import { startSandbox } from "./wiring.ts";

await serveUntilSignal("sandbox", startSandbox);
