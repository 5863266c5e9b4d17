import { type Clock, DroverError, headOf, withTimeout } from "@drover/kernel";
import { redact } from "@drover/redaction";
import { type OfferedTool, offeredTools } from "../domain/foreign-tools.ts";
import { contentOf, replayOf, type ToolServer } from "../domain/tool-server.ts";
import { resultOfSource } from "./source-result.ts";
import type { Tool, ToolContext } from "./tool-ports.ts";
import type { Hook, ToolServerOpener, ToolSource } from "./tool-source-ports.ts";

/** Progress of one call that is written into its trace; the rest is dropped. */
const mostProgress = 100;

/** What a connection needs. */
export interface PlugParts {
  readonly opener: ToolServerOpener;
  readonly clock: Clock;
  /** Longest listing of a server's tools, ms. */
  readonly listMs: number;
  /** How long calls may still run after their server was removed, ms. */
  readonly drainMs: number;
  readonly onFault: (fault: unknown, what: string) => void;
}

/**
 * One connection to a server as one row described it. It is never changed: another row is another plug, and this one
 * drains. Closed when nobody holds it any more, or after the deadline, which cancels its calls.
 */
export class Plug {
  readonly server: ToolServer;
  readonly generation: number;
  readonly content: string;
  tools: readonly OfferedTool[] = [];
  leftOut: readonly string[] = [];
  /** Empty where the last listing went well. */
  lastError = "";
  references = 0;
  draining = false;
  readonly #parts: PlugParts;
  readonly #closing = new AbortController();
  readonly #source: ToolSource | undefined;
  readonly hook: Hook | undefined;
  readonly #changes: Disposable | undefined;
  #listedAt = Number.NEGATIVE_INFINITY;
  #closed: Promise<void> | undefined;

  constructor(
    parts: PlugParts,
    row: { readonly tenant: string; readonly server: ToolServer; readonly generation: number },
    onChanged: () => void,
  ) {
    this.#parts = parts;
    this.server = row.server;
    this.generation = row.generation;
    this.content = contentOf(row.server);
    try {
      if (row.server.kind === "grpc_hook") this.hook = parts.opener.hook(row.tenant, row.server);
      else this.#source = parts.opener.source(row.tenant, row.server);
    } catch (fault) {
      this.lastError = shownFault(fault);
    }
    this.#changes = this.#source?.onChanged(() => {
      this.#listedAt = Number.NEGATIVE_INFINITY;
      onChanged();
    });
  }

  /** Lists the tools where the last list is older than `ttlMs`, or went wrong. Never throws: what failed is kept as `lastError`, with the tools of before. */
  async refresh(ttlMs: number): Promise<void> {
    const source = this.#source;
    const now = this.#parts.clock.monotonicMs();
    if (source === undefined || (this.lastError === "" && now - this.#listedAt < ttlMs)) return;
    this.#listedAt = now;
    try {
      const what = `Listing the tools of ${this.server.name}`;
      const listed = await withTimeout(what, this.#parts.listMs, this.#closing.signal, (signal) =>
        Promise.race([source.list(signal), abortOf(signal)]),
      );
      const { tools, leftOut } = offeredTools(this.server.name, listed, this.server.tools);
      this.tools = tools;
      this.leftOut = leftOut;
      this.lastError = "";
    } catch (fault) {
      this.lastError = shownFault(fault);
    }
  }

  /** A tool of this server, which runs on this connection. */
  toolOf({ spec, schema, foreignName }: OfferedTool): Tool {
    const replay = replayOf(this.server, foreignName);
    return {
      ...{ spec, schema, replay, timeoutMs: this.server.timeoutMs },
      execute: (args, context, signal) => this.#call(foreignName, args, context, signal, replay !== "never"),
      ...(this.#source?.cancel === undefined ? {} : { stop: this.#stopperOf(foreignName) }),
    };
  }

  hold(): void {
    this.references += 1;
  }

  release(): void {
    this.references -= 1;
    if (this.draining && this.references <= 0) void this.close();
  }

  /** From now on it is offered no more; it is closed when its calls have ended, or after the deadline. */
  drain(onClosed: () => void): void {
    this.draining = true;
    this.#changes?.[Symbol.dispose]();
    this.#closing.signal.addEventListener("abort", () => onClosed(), { once: true });
    if (this.references <= 0) {
      void this.close();
      return;
    }
    const { clock, drainMs } = this.#parts;
    clock.sleep(drainMs, this.#closing.signal).then(
      () => this.close(),
      () => undefined,
    );
  }

  /** Cancels what still runs and ends the connection. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#changes?.[Symbol.dispose]();
    this.#closing.abort(new DroverError("UNAVAILABLE", `The tool server ${this.server.name} was removed.`));
    try {
      await this.#source?.[Symbol.asyncDispose]();
      await this.hook?.[Symbol.asyncDispose]();
    } catch (fault) {
      this.#parts.onFault(fault, "a tool server did not close");
    }
  }

  async #call(
    name: string,
    args: Readonly<Record<string, unknown>>,
    context: ToolContext,
    signal: AbortSignal,
    replayable: boolean,
  ) {
    const source = this.#source;
    if (source === undefined) throw new DroverError("FAILED_PRECONDITION", this.lastError);
    let told = 0;
    const onProgress = (text: string) => {
      told += 1;
      if (told <= mostProgress) context.span.event("note", { text: text.slice(0, 1_000) });
    };
    const call = { callId: context.callId, replayable, scope: context, onProgress };
    const bounded = AbortSignal.any([signal, this.#closing.signal]);
    return resultOfSource(name, await source.call(name, args, { ...call, signal: bounded }));
  }

  /** What a server says of a cancel proves nothing, so that the call stays without a result. */
  #stopperOf(name: string) {
    return async (context: ToolContext, signal: AbortSignal): Promise<never> => {
      await this.#source?.cancel?.(context.callId, context, signal);
      throw new DroverError("UNAVAILABLE", `${name} was told to stop; whether it did is not known.`);
    };
  }
}

/** A server's words about its fault, for people: bounded, and without secrets. */
function shownFault(fault: unknown): string {
  return headOf(redact(DroverError.from(fault).message).text, 500);
}

/** Rejects once the signal aborts: a server that hangs is not waited for, whatever its client does. */
function abortOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
