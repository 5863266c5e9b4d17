import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { createIdentityVerifier, startRpcServer } from "@drover/rpc";
import { createLogger, createMetrics } from "@drover/runtime";

/** A service behind the gateway for `gateway.ts`, which starts this file with an IPC channel. */
const [publicKeys = ""] = process.argv.slice(2);
const server = await startRpcServer({
  service: "orchestrator",
  listen: "127.0.0.1:0",
  identity: createIdentityVerifier({ publicKeys, audience: "orchestrator" }),
  logger: createLogger({ service: "bench", level: "silent" }),
  metrics: createMetrics("bench"),
  routes: (router) => router.service(TaskService, { getTask: ({ taskId }) => ({ task: { id: taskId } }) }),
  graceMs: 0,
});
process.on("message", () => process.send?.(process.cpuUsage()));
process.on("disconnect", () => process.exit(0));
process.send?.(server.address);
