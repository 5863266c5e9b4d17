import { DroverError } from "@drover/kernel";
import {
  AckPolicy,
  type ConsumerConfig,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from "@nats-io/jetstream";
import { dedupeWindowMs, queueSubjects } from "./bus.ts";

/** Name of the stream of the work queue, and of the one that keeps what was given up. */
export const streamNames = { queue: "DROVER_TRACE", buried: "DROVER_BURIED" } as const;
/** The one durable consumer of the queue, shared by all that consume. */
export const durableName = "store";
/** Where a given-up message of `drover.trace.…` is kept: `drover.buried.trace.…`. */
export const buriedPrefix = "drover.buried.";

const millisecond = 1_000_000;
const day = 24 * 3600 * 1000 * millisecond;
const nameInUse = 10058;
/** A message that is not acknowledged for this long comes again; handlers that take longer say so in between. */
export const ackWaitMs = 60_000;

const streams: readonly (Partial<StreamConfig> & { name: string })[] = [
  {
    name: streamNames.queue,
    subjects: [queueSubjects.all],
    retention: RetentionPolicy.Workqueue,
    storage: StorageType.File,
    discard: DiscardPolicy.New,
    max_age: day,
    max_bytes: 4 * 1024 ** 3,
    duplicate_window: dedupeWindowMs * millisecond,
  },
  {
    name: streamNames.buried,
    subjects: [`${buriedPrefix}>`],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    discard: DiscardPolicy.Old,
    max_age: day,
    max_bytes: 64 * 1024 ** 2,
  },
];

const consumer: Partial<ConsumerConfig> = {
  durable_name: durableName,
  ack_policy: AckPolicy.Explicit,
  deliver_policy: DeliverPolicy.All,
  ack_wait: ackWaitMs * millisecond,
  max_deliver: -1,
  max_ack_pending: 1024,
};

/**
 * Makes the streams and the consumer, or brings them to these settings, and reads back what the server took: an older
 * one drops a setting that it does not know without a word. FAILED_PRECONDITION names the setting that did not hold.
 */
export async function ensureQueue(manager: JetStreamManager): Promise<void> {
  for (const wanted of streams) {
    const info = await ensureStream(manager, wanted);
    checkSettings(wanted.name, wanted, info.config);
  }
  const info = await manager.consumers.add(streamNames.queue, consumer);
  checkSettings(durableName, consumer, info.config);
}

async function ensureStream(manager: JetStreamManager, wanted: Partial<StreamConfig> & { name: string }) {
  try {
    return await manager.streams.add(wanted);
  } catch (error) {
    if (!(error instanceof JetStreamApiError && error.code === nameInUse)) throw error;
    // What cannot be changed (the retention) is refused here and named by the comparison.
    return await manager.streams.update(wanted.name, wanted).catch(() => manager.streams.info(wanted.name));
  }
}

function checkSettings(name: string, wanted: object, found: object): void {
  const settings = new Map<string, unknown>(Object.entries(found));
  for (const [key, value] of Object.entries(wanted)) {
    const actual = settings.get(key);
    if (JSON.stringify(actual) === JSON.stringify(value)) continue;
    const what = `${key} is ${JSON.stringify(actual)} instead of ${JSON.stringify(value)}`;
    throw new DroverError("FAILED_PRECONDITION", `NATS keeps ${name} with other settings: ${what}.`, {
      reason: "BUS_MISCONFIGURED",
    });
  }
}
