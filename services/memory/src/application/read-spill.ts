import { invalidField, notFound } from "@drover/kernel";
import { callIdOfPointer, requireToken } from "../domain/spill-pointer.ts";
import type { Call } from "./call.ts";
import type { SpillStore } from "./ports.ts";

/** A range that was read. */
interface SpillView {
  readonly text: string;
  readonly offset: number;
  readonly nextOffset: number;
  readonly totalCharacters: number;
}

/** Reads a range of a stored body; see the rpc of the same name for the contract. */
export type ReadSpill = (
  call: Call,
  request: {
    readonly conversationId: string;
    readonly pointer: string;
    readonly offset: number;
    readonly length: number;
  },
) => Promise<SpillView>;

/** Makes {@link ReadSpill}; `viewCharacters` is the default length and the most. */
export function createReadSpill(store: SpillStore, viewCharacters: number): ReadSpill {
  return async ({ owner, signal }, request) => {
    requireToken("conversation_id", request.conversationId);
    if (request.length < 0 || request.length > viewCharacters) {
      throw invalidField("length", String(request.length), `0 to ${viewCharacters}`);
    }
    const callId = callIdOfPointer(request.conversationId, request.pointer);
    if (callId === undefined) throw notFound("spill", request.pointer);
    const range = { offset: request.offset, length: request.length || viewCharacters };
    const found = await store.read(owner, request.conversationId, callId, range, signal);
    if (found === undefined) throw notFound("spill", request.pointer);
    return { ...found, nextOffset: found.offset + found.text.length };
  };
}
