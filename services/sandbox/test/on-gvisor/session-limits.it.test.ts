import { useGvisor } from "../sandbox-under-test.ts";

// The same tests as on the engine's default runtime.
useGvisor();
await import("../session-limits.it.test.ts");
