import { create } from "@bufbuild/protobuf";
import { type OutputFacts as OutputFactsMessage, OutputFactsSchema } from "@drover/proto/sandbox/v1/exec";
import type { OutputFacts } from "../domain/output-cap.ts";

/** A stream as callers see it, with at most `most` bytes: the begin of its head and the end of its tail. */
export function outputMessage(facts: OutputFacts, most: number): OutputFactsMessage {
  const { seen, head, tail, dropped } = trimmed(facts, most);
  return create(OutputFactsSchema, {
    bytesSeen: BigInt(seen),
    bytesKept: BigInt(head.length + tail.length),
    head: new Uint8Array(head),
    tail: new Uint8Array(tail),
    bytesDropped: BigInt(dropped),
  });
}

/** What is counted of a stream, without its bytes. */
export function countsMessage({ seen, dropped }: OutputFacts): OutputFactsMessage {
  return create(OutputFactsSchema, {
    bytesSeen: BigInt(seen),
    bytesKept: BigInt(seen - dropped),
    bytesDropped: BigInt(dropped),
  });
}

/** Most bytes of one stream, so that all of them fit into `room`: short ones leave theirs to the others. */
export function shareOf(streams: readonly OutputFacts[], room: number): number {
  let left = Math.max(room, 0);
  const sizes = streams.map(({ head, tail }) => head.length + tail.length).sort((a, b) => a - b);
  for (const [index, size] of sizes.entries()) {
    const share = Math.floor(left / (sizes.length - index));
    if (size > share) return share;
    left -= size;
  }
  return Number.POSITIVE_INFINITY;
}

function trimmed(facts: OutputFacts, most: number): OutputFacts {
  const { head, tail, dropped } = facts;
  if (head.length + tail.length <= most) return facts;
  const ofHead = Math.min(head.length, Math.max(Math.ceil(most / 2), most - tail.length));
  const ofTail = most - ofHead;
  return {
    ...facts,
    head: head.subarray(0, ofHead),
    tail: tail.subarray(tail.length - ofTail),
    dropped: dropped + head.length + tail.length - most,
  };
}
