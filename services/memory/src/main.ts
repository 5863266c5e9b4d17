import { serveUntilSignal } from "@drover/runtime";
import { startMemory } from "./wiring.ts";

await serveUntilSignal("memory", startMemory);
