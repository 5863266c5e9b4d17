export { runDemoJob } from "./demo-job.ts";
export { type RunningSuite, startEmbeddedSuite } from "./embedded-suite.ts";
export { freePorts } from "./free-ports.ts";
export { type ProcessSuite, startProcessSuite } from "./process-suite.ts";
export { type ServiceName, serviceNames } from "./service-names.ts";
