import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { Bus, Subject } from "@drover/bus";
import { patterns, subjects } from "@drover/bus";
import { headOf } from "@drover/kernel";
import {
  EventCommittedSchema,
  TaskCancelledSchema,
  TokenDelta_Channel,
  TokenDeltaSchema,
  WorkReadySchema,
} from "@drover/proto/event/v1/bus";
import type { Delta, TaskSignals } from "../application/ports.ts";

/** Characters of one delta; far below the bus's limit for a message. */
const deltaCharacters = 32_000;

/** Signals over the bus. What cannot be sent is told to `onFault` and forgotten: the record is the truth. */
export function createBusSignals(bus: Bus, onFault: (fault: unknown, what: string) => void): TaskSignals {
  const publish = (subject: () => Subject, data: () => Uint8Array) => {
    try {
      bus.publish(subject(), data());
    } catch (fault) {
      onFault(fault, "a signal could not be sent");
    }
  };
  return {
    ready: (taskId) =>
      publish(
        () => subjects.ready("task"),
        () => toBinary(WorkReadySchema, create(WorkReadySchema, { taskId })),
      ),
    committed: (tenant, taskId, sequence) =>
      publish(
        () => subjects.event(tenant, taskId),
        () => toBinary(EventCommittedSchema, create(EventCommittedSchema, { taskId, sequence: BigInt(sequence) })),
      ),
    delta: (tenant, delta) => {
      for (const piece of pieces(delta)) {
        publish(
          () => subjects.delta(tenant, delta.taskId),
          () => toBinary(TokenDeltaSchema, deltaMessage(piece)),
        );
      }
    },
    cancelled: (tenant, taskId, actor, reason) =>
      publish(
        () => subjects.cancel(tenant, taskId),
        () => toBinary(TaskCancelledSchema, create(TaskCancelledSchema, { taskId, actor, reason })),
      ),
    follow(tenant, taskId, listener) {
      const hints = bus.subscribe(patterns.event(tenant, taskId), ({ data }) =>
        listener.onHint(Number(fromBinary(EventCommittedSchema, data).sequence)),
      );
      const deltas = bus.subscribe(patterns.delta(tenant, taskId), ({ data }) =>
        listener.onDelta(deltaOf(fromBinary(TokenDeltaSchema, data))),
      );
      return {
        [Symbol.dispose]() {
          Promise.all([hints[Symbol.asyncDispose](), deltas[Symbol.asyncDispose]()]).catch((fault: unknown) =>
            onFault(fault, "a subscription did not end"),
          );
        },
      };
    },
  };
}

function* pieces(delta: Delta): Generator<Delta> {
  for (let at = 0; at < delta.text.length; ) {
    const text = headOf(delta.text.slice(at), deltaCharacters);
    yield { ...delta, offset: delta.offset + at, text };
    at += text.length;
  }
}

function deltaMessage({ taskId, step, channel, offset, text }: Delta) {
  return create(TokenDeltaSchema, {
    taskId,
    step: BigInt(step),
    channel: channel === "text" ? TokenDelta_Channel.TEXT : TokenDelta_Channel.REASONING,
    offset: BigInt(offset),
    text,
  });
}

function deltaOf(message: ReturnType<typeof deltaMessage>): Delta {
  return {
    taskId: message.taskId,
    step: Number(message.step),
    channel: message.channel === TokenDelta_Channel.REASONING ? "reasoning" : "text",
    offset: Number(message.offset),
    text: message.text,
  };
}
