import type { ForeignTool } from "../domain/foreign-tools.ts";
import type { ToolServer } from "../domain/tool-server.ts";
import type { Middleware } from "./middleware-ports.ts";
import type { CallScope } from "./ports.ts";

/** What goes with a call of a source. */
interface SourceCall {
  /** Idempotency key; the same after a crash. */
  readonly callId: string;
  /** The call may be sent again where the way to the server broke. */
  readonly replayable: boolean;
  readonly scope: CallScope;
  readonly onProgress: (text: string) => void;
  readonly signal: AbortSignal;
}

/** A part of a result; what is not text is named and not carried. */
export type SourceContent =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "other"; readonly mediaType: string; readonly bytes: number };

/** How a call of a source ended. */
export type SourceResult =
  | {
      readonly outcome: "known";
      readonly isError: boolean;
      readonly content: readonly SourceContent[];
      readonly structured?: unknown;
      /** One line; absent: the first of the text. */
      readonly summary?: string;
      /** UPPER_SNAKE_CASE; absent: TOOL_FAILED. */
      readonly errorCode?: string;
      readonly retryable?: boolean;
    }
  /** It may or may not have happened. */
  | { readonly outcome: "unknown"; readonly why: string };

/** Where tools come from while the service runs: a server of another team. Disposing ends its connections. */
export interface ToolSource extends AsyncDisposable {
  /** All its tools. Fails with a DroverError; may be asked again at any time. */
  list(signal: AbortSignal): Promise<readonly ForeignTool[]>;
  /**
   * Runs a call. Fails with a DroverError where the way to the server broke (UNAVAILABLE, DEADLINE_EXCEEDED: it may have
   * happened) or the server refused it.
   */
  call(name: string, args: Readonly<Record<string, unknown>>, call: SourceCall): Promise<SourceResult>;
  /** Asks for the end of a call that somebody else sent; its end is not proven by it. */
  readonly cancel?: (callId: string, scope: CallScope, signal: AbortSignal) => Promise<void>;
  /** Calls `listener` when the tools may be others, a burst of changes once; until disposed of. */
  onChanged(listener: () => void): Disposable;
}

/** A hook of another team. Disposing ends its connections. */
export interface Hook extends Middleware, AsyncDisposable {}

/** Opens ways to servers. Throws DroverError for one that cannot be opened as it stands; connects to nothing before the first call. */
export interface ToolServerOpener {
  source(tenant: string, server: ToolServer): ToolSource;
  hook(tenant: string, server: ToolServer): Hook;
}

/** A row with what the record adds. */
export interface ToolServerRecord {
  readonly server: ToolServer;
  readonly version: number;
  readonly updatedAt: Date;
  readonly updatedBy: string;
}

/** The record of tool servers, by tenant. Every method may fail with UNAVAILABLE when the database is away. */
export interface ToolServerStore {
  put(
    tenant: string,
    server: ToolServer,
    write: { readonly expectedVersion: number; readonly actor: string; readonly most: number },
  ): Promise<
    { readonly outcome: "written"; readonly record: ToolServerRecord } | { readonly outcome: "stale" | "full" }
  >;
  get(tenant: string, name: string): Promise<ToolServerRecord | undefined>;
  /** By name, after `after`. */
  list(tenant: string, limit: number, after: string): Promise<readonly ToolServerRecord[]>;
  delete(tenant: string, name: string): Promise<void>;
  /** The version of the tenant's rows, and the rows where it is another than `known`. */
  read(
    tenant: string,
    known: number,
  ): Promise<{ readonly version: number; readonly servers: readonly ToolServer[] | undefined }>;
}

/** Tells all replicas of changed rows; losing one is made good by polling. No method throws or waits. */
export interface ToolServerSignals {
  changed(tenant: string): void;
  /** Calls `listener` with the tenant of each change; until disposed of. */
  onChanged(listener: (tenant: string) => void): AsyncDisposable;
}
