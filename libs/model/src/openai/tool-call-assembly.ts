import { newId } from "@drover/kernel";
import { repairedArguments } from "../arguments/repair-arguments.ts";
import type { ToolCall } from "../message.ts";

/** A piece of a tool call as providers send it; nothing about it can be relied on. */
export interface ToolCallDelta {
  readonly index?: unknown;
  readonly id?: unknown;
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown } | null;
}

/** What one piece added: to which call (0-based, in order of arrival), its name so far, its argument text. */
export interface AddedPiece {
  readonly index: number;
  readonly name: string;
  readonly argumentsDelta: string;
}

interface Slot {
  readonly position: number;
  id: string;
  name: string;
  argumentsJson: string;
}

/**
 * Puts tool calls together from streamed pieces. Providers disagree on ids: given on the first piece
 * only, on each piece, empty on later ones, or never; and on indexes: missing, or the same for two
 * calls. A piece belongs to the call with its index, else with its id, else to the last one; it opens
 * a new call when there is none, or when a different id arrives with a name or after complete arguments.
 * Argument text is kept exactly as it came, but for slips that can be repaired (see {@link repairedArguments}).
 */
export class ToolCallAssembly {
  readonly #slots: Slot[] = [];
  readonly #byIndex = new Map<number, Slot>();

  /** Adds one piece; undefined when it carried neither name nor arguments. */
  add(delta: ToolCallDelta): AddedPiece | undefined {
    const id = idText(delta.id);
    const name = typeof delta.function?.name === "string" ? delta.function.name : "";
    const text = argumentText(delta.function?.arguments);
    const index = typeof delta.index === "number" ? delta.index : undefined;
    const found = this.#find(index, id);
    const slot = found === undefined || startsNewCall(found, id, name, text, index) ? this.#open(index) : found;
    if (slot.id === "") slot.id = id;
    if (slot.name === "") slot.name = name;
    // A last piece that repeats the whole arguments adds nothing.
    const added = text === slot.argumentsJson && isComplete(text) ? "" : text;
    slot.argumentsJson += added;
    if (added === "" && name === "") return undefined;
    return { index: slot.position, name: slot.name, argumentsDelta: added };
  }

  /** The calls in order of arrival; pieces that never got a name are dropped, missing or repeated ids replaced. */
  finish(): ToolCall[] {
    const used = new Set<string>();
    const calls: ToolCall[] = [];
    for (const slot of this.#slots) {
      if (slot.name === "") continue;
      const providerCallId = slot.id === "" || used.has(slot.id) ? `call_${newId()}` : slot.id;
      used.add(providerCallId);
      calls.push({
        callId: newId(),
        providerCallId,
        name: slot.name,
        argumentsJson:
          slot.argumentsJson.trim() === "" ? "{}" : (repairedArguments(slot.argumentsJson) ?? slot.argumentsJson),
      });
    }
    return calls;
  }

  #find(index: number | undefined, id: string): Slot | undefined {
    if (index !== undefined) return this.#byIndex.get(index);
    return id === "" ? this.#slots.at(-1) : this.#slots.findLast((slot) => slot.id === id);
  }

  #open(index: number | undefined): Slot {
    const slot: Slot = { position: this.#slots.length, id: "", name: "", argumentsJson: "" };
    this.#slots.push(slot);
    if (index !== undefined) this.#byIndex.set(index, slot);
    return slot;
  }
}

function startsNewCall(slot: Slot, id: string, name: string, text: string, index: number | undefined): boolean {
  if (slot.id !== "" && id !== "") return slot.id !== id && (name !== "" || isComplete(slot.argumentsJson));
  // Neither index nor id: only a name with arguments of its own after a complete call tells two calls apart.
  return index === undefined && id === "" && name !== "" && text !== "" && isComplete(slot.argumentsJson);
}

function isComplete(json: string): boolean {
  if (!json.trimEnd().endsWith("}")) return false;
  try {
    JSON.parse(json);
    return true;
  } catch {
    return false;
  }
}

function idText(id: unknown): string {
  return typeof id === "string" ? id : typeof id === "number" ? String(id) : "";
}

function argumentText(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "object" && value !== null ? JSON.stringify(value) : "";
}
