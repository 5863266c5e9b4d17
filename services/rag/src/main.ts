import { serveUntilSignal } from "@drover/runtime";
import { startRag } from "./wiring.ts";

await serveUntilSignal("rag", startRag);
