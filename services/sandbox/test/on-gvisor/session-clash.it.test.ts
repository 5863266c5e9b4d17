import { useGvisor } from "../sandbox-under-test.ts";

// The tests and assertions are those of the file below; where the two kernels differ it says so.
useGvisor();
await import("../session-clash.it.test.ts");
