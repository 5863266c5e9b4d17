import { startGateway } from "@drover/gateway/wiring";

/** The gateway for `gateway.ts`, which starts this file with an IPC channel and the environment it needs. */
const gateway = await startGateway(process.env);
process.on("message", () => process.send?.(process.cpuUsage()));
process.on("disconnect", () => process.exit(0));
process.send?.(gateway.address);
