import { serveUntilSignal } from "@drover/runtime";
import { startTrace } from "./wiring.ts";

await serveUntilSignal("trace", startTrace);
