import { useGvisor } from "../sandbox-under-test.ts";

// The tests and assertions are those of the file below; every end that they see must also say that gVisor ran it.
useGvisor();
await import("../isolation.it.test.ts");
