import { invalidField } from "@drover/kernel";
import type { Subject, SubjectPattern } from "./subjects.ts";

/** Most bytes of one message, everywhere; NATS itself allows a megabyte. */
export const maxMessageBytes = 256 * 1024;

/** A message of the ephemeral kind. */
export interface BusMessage {
  readonly subject: string;
  /** The subject's tokens after its kind, e.g. tenant and task. */
  readonly tokens: readonly string[];
  readonly data: Uint8Array;
}

/** A message of the work queue. */
export interface QueuedMessage extends BusMessage {
  /** How often it was delivered, this time included. */
  readonly deliveries: number;
}

/** Something that hears; disposing ends it, and waits for a handler that runs. */
export interface Subscription extends AsyncDisposable {
  /** Resolves when every message published from now on is heard. */
  readonly ready: Promise<void>;
}

export interface ConsumeOptions {
  /**
   * Takes messages in their order, one batch at a time. They are acknowledged when it resolves. When it rejects with a
   * retryable DroverError the same batch is tried again until it succeeds; when it rejects with anything else each
   * message is tried alone, later again, and buried after `maxDeliveries`, so that one bad message stops nobody. A
   * message may come more than once: handling must be idempotent.
   */
  readonly handler: (batch: readonly QueuedMessage[]) => Promise<void>;
  /** Most messages of a batch. Default 64. */
  readonly batchSize?: number;
  /** Attempts of a message that fails by itself. Default 5. */
  readonly maxDeliveries?: number;
  /** Wait before the second attempt; it doubles up to 10 s. Default 200 ms. */
  readonly retryDelayMs?: number;
  /** Told of each message that is given up. */
  readonly onBuried?: (message: QueuedMessage, error: unknown) => void;
}

/**
 * Streams and signals between services. `publish` reaches who listens at this moment, every one of them, at most once;
 * losing a message loses no truth. `enqueue` and `consume` are the one work queue, at least once.
 */
export interface Bus extends AsyncDisposable {
  /** Sends without waiting; while the bus is away the message is dropped. INVALID_ARGUMENT beyond 256 KB. */
  publish(subject: Subject, data: Uint8Array): void;
  /** Hears what is published on the pattern. A handler that throws is told to the logger. */
  subscribe(pattern: SubjectPattern, handler: (message: BusMessage) => void): Subscription;
  /**
   * Puts a message into the work queue; resolves when the queue has it. A message id that came within the last two
   * minutes is taken and dropped. UNAVAILABLE while the bus is away, RESOURCE_EXHAUSTED when the queue is full,
   * INVALID_ARGUMENT beyond 256 KB or for a subject that is not the queue's.
   */
  enqueue(subject: Subject, data: Uint8Array, messageId: string): Promise<void>;
  /** Takes messages from the work queue; several consumers share them. */
  consume(options: ConsumeOptions): Subscription;
  /** Whether messages go through at this moment. */
  healthy(): boolean;
}

/** Where a bus tells what it cannot tell its caller. */
export interface BusLogger {
  warn(fields: object, message: string): void;
}

/** INVALID_ARGUMENT for a message that is too large. */
export function checkData(data: Uint8Array): void {
  if (data.byteLength > maxMessageBytes) {
    throw invalidField("data", `${data.byteLength} bytes`, `at most ${maxMessageBytes} bytes`);
  }
}

/** INVALID_ARGUMENT for what the work queue does not take. */
export function checkQueued(subject: Subject, data: Uint8Array, messageId: string): void {
  checkData(data);
  if (!subject.startsWith(queueSubjects.prefix)) throw invalidField("subject", subject, queueSubjects.all);
  if (!/^[\x21-\x7e]{1,256}$/.test(messageId)) {
    throw invalidField("message_id", JSON.stringify(messageId.slice(0, 80)), "1 to 256 printable ASCII characters");
  }
}

/** The subjects of the work queue. */
export const queueSubjects = { prefix: "drover.trace.", all: "drover.trace.>" } as const;

/** How long the queue remembers a message id. */
export const dedupeWindowMs = 120_000;
