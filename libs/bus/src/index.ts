export {
  type Bus,
  type BusLogger,
  type BusMessage,
  type ConsumeOptions,
  maxMessageBytes,
  type QueuedMessage,
  type Subscription,
} from "./bus.ts";
export { createInProcessBus, type InProcessBusOptions } from "./in-process.ts";
export { connectNats, type NatsOptions } from "./nats.ts";
export { patterns, type Subject, type SubjectPattern, subjects } from "./subjects.ts";
export { stopWithTasks, type TaskWork } from "./task-work.ts";
