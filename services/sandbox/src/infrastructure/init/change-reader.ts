import type { CollectedChange, CollectLimits } from "../../application/ports.ts";
import { type Frame, frameTypes } from "./frame.ts";
import { type ChangeHeader, changeHeader } from "./reports.ts";

/** Puts change frames together. Process 1 keeps the limits; here they are held against it again. */
export class ChangeReader {
  readonly #limits: CollectLimits;
  readonly #onChange: (change: CollectedChange) => Promise<void>;
  #header: ChangeHeader | undefined;
  #pieces: Buffer[] = [];
  #missing = 0;
  #files = 0;
  #bytes = 0;

  constructor(limits: CollectLimits, onChange: (change: CollectedChange) => Promise<void>) {
    this.#limits = limits;
    this.#onChange = onChange;
  }

  /** True at the end of the change set. */
  async push(frame: Frame): Promise<boolean> {
    switch (frame.type) {
      case frameTypes.change:
        await this.#begin(changeHeader(frame.payload));
        return false;
      case frameTypes.changeData:
        await this.#add(frame.payload);
        return false;
      case frameTypes.changesEnd:
        if (this.#missing > 0) throw new Error("Process 1 ended the change set within a file.");
        return true;
      default:
        throw new Error(`Process 1 sent a frame of type ${frame.type} within a change set.`);
    }
  }

  async #begin(header: ChangeHeader): Promise<void> {
    if (this.#missing > 0) throw new Error("Process 1 began a file within another one.");
    const { op, path } = header;
    if (op === "delete") return await this.#onChange({ kind: "delete", path });
    if (op === "skip") return await this.#onChange({ kind: "skip", path, reason: header.reason });
    this.#files++;
    this.#bytes += header.size;
    if (this.#files > this.#limits.maxFiles || this.#bytes > this.#limits.maxBytes) {
      throw new Error("Process 1 reported more changes than it was asked for.");
    }
    this.#header = header;
    this.#missing = header.size;
    this.#pieces = [];
    await this.#finishIfWhole();
  }

  async #add(payload: Buffer): Promise<void> {
    if (payload.length > this.#missing) throw new Error("Process 1 sent more bytes than a file has.");
    this.#pieces.push(Buffer.from(payload));
    this.#missing -= payload.length;
    await this.#finishIfWhole();
  }

  async #finishIfWhole(): Promise<void> {
    if (this.#missing > 0 || this.#header === undefined) return;
    const { path, executable } = this.#header;
    const content = Buffer.concat(this.#pieces);
    this.#header = undefined;
    this.#pieces = [];
    await this.#onChange({ kind: "put", path, content, executable });
  }
}
