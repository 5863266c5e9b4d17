import type { ToolSpec } from "@drover/model";
import type { Span } from "@drover/tracing";
import type { ToolResult } from "../domain/tool-result.ts";
import type { Middleware } from "./middleware-ports.ts";
import type { CallScope } from "./ports.ts";

/** What a tool may know of the task it works for. */
export interface ToolContext extends CallScope {
  /** The idempotency key of this call; the same after a crash. */
  readonly callId: string;
  readonly conversationId: string;
  readonly collection: string;
  /** The only commands that a shell may run for this call, by the rule that allowed it; empty for no such rule. */
  readonly allowedCommands: readonly string[];
  /** The task's workspace, made when it is first asked for. */
  readonly workspace: (signal: AbortSignal) => Promise<string>;
  readonly span: Span;
}

/** A tool: what the model is told of it, and what it does. */
export interface Tool {
  readonly spec: ToolSpec;
  /** What arguments are checked by, where that is more than what the model is told. */
  readonly schema?: Readonly<Record<string, unknown>>;
  /** Longest run of a call. */
  readonly timeoutMs: number;
  /**
   * What happens to a call that was sent and has no result, e.g. after a crash. `safe`: it changes nothing and is sent
   * again. `idempotent`: it is sent again, and whoever does the work knows the call id. `probe`: {@link probe} is asked.
   * `never`: its outcome is unknown, and it is sent again only where a person says so.
   */
  readonly replay: "safe" | "idempotent" | "probe" | "never";
  /** Calls that repeat themselves are how this tool is used, so they are no sign of a loop. */
  readonly polling?: boolean;
  /**
   * Runs the call. `args` fit the schema of the spec. A failure is a result; what is thrown all the
   * same becomes one. Ends soon after an abort.
   */
  execute(args: Readonly<Record<string, unknown>>, context: ToolContext, signal: AbortSignal): Promise<ToolResult>;
  /**
   * Ends what the call still does that an earlier worker sent, and tells how it went; undefined where it never began.
   * Throws where its end cannot be proven. Absent: nothing of a call outlives the rpc that carries it.
   */
  readonly stop?: (context: ToolContext, signal: AbortSignal) => Promise<ToolResult | undefined>;
  /** Of a `probe`: how a call that was sent went; `not_run` where it never began, `unknown` where nobody can tell. */
  readonly probe?: (
    args: Readonly<Record<string, unknown>>,
    context: ToolContext,
    signal: AbortSignal,
  ) => Promise<ToolResult | "not_run" | "unknown">;
}

/** The tools on offer. */
export interface ToolBox {
  readonly specs: readonly ToolSpec[];
  /** Names of the tools that are used by asking again and again. */
  readonly polling: ReadonlySet<string>;
  /** Digests of tools that are offered for the first time in a task, to be recorded with its turn. */
  readonly pins?: Readonly<Record<string, string>>;
  /** The tool and its checked arguments, or the result that tells the model what is wrong with them. */
  resolve(
    name: string,
    argumentsJson: string,
  ): { readonly tool: Tool; readonly args: Readonly<Record<string, unknown>> } | { readonly refused: ToolResult };
}

/** The tools of a tenant in one version, which stays whole for as long as it is held. Disposing lets go of it. */
export interface ToolLease extends Disposable {
  readonly local: ToolBox;
  /** The tools of servers; `specs` is the same array for the whole version. */
  readonly foreign: ToolBox;
  /** Digests of the tools of servers, by name. */
  readonly digests: ReadonlyMap<string, string>;
  readonly hooks: readonly Middleware[];
}

/** The tools of every tenant, which change while the service runs. */
export interface ToolCatalog {
  /** The tenant's tools as they are now. UNAVAILABLE where its servers were never read and the database is away. */
  lease(tenant: string): Promise<ToolLease>;
}
