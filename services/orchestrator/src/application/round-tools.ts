import { agentOf } from "../domain/agent.ts";
import type { NextAction } from "../domain/next-action.ts";
import { changedCode, changedText } from "../domain/tool-pins.ts";
import type { Middleware } from "./middleware-ports.ts";
import type { TaskSession } from "./task-session.ts";
import { type TaskToolParts, taskTools } from "./task-tools.ts";
import type { ToolBox, ToolCatalog, ToolLease } from "./tool-ports.ts";

/** What holding tools for rounds needs; without a catalogue the tools are those that there are. */
export interface RoundToolParts {
  readonly catalog?: ToolCatalog;
  readonly choice?: TaskToolParts;
  readonly tools: ToolBox;
  readonly middleware?: readonly Middleware[];
}

/** The tools with which one action works. */
interface RoundView {
  readonly tools: ToolBox;
  readonly middleware: readonly Middleware[];
}

/**
 * Holds one version of the catalogue from the question to the model until the results of its turn are there, so that
 * what was asked of a server ends on that server. The next question gets the version of then.
 */
export class RoundTools implements Disposable {
  readonly #parts: RoundToolParts;
  readonly #session: TaskSession;
  #lease: ToolLease | undefined;

  constructor(parts: RoundToolParts, session: TaskSession) {
    this.#parts = parts;
    this.#session = session;
  }

  /** The view for an action; undefined where the model had to be told of changed tools first, which is recorded now. */
  async viewOf(action: NextAction): Promise<RoundView | undefined> {
    const { catalog, choice, tools, middleware: own = [] } = this.#parts;
    if (catalog === undefined || choice === undefined) return { tools, middleware: own };
    const session = this.#session;
    const asking = action.kind === "ask";
    if (asking && !this.#toldOfChanges()) this[Symbol.dispose]();
    this.#lease ??= await catalog.lease(session.task.tenant);
    const { names, log } = { names: agentOf(session.task).tools, log: session.log };
    const view = taskTools(choice, this.#lease, { names, log, asking });
    const changed = Object.keys(view.changed);
    if (asking && action.limit === undefined && changed.length > 0) {
      await tellOfChanges(session, changed, view.changed);
      return undefined;
    }
    return { tools: view.tools, middleware: [...own, ...this.#lease.hooks] };
  }

  /** What was just told is what the next question is about, however fast a server changes its tools. */
  #toldOfChanges(): boolean {
    const newest = this.#session.log.steps.at(-1)?.body;
    return newest?.kind === "nudge" && newest.code === changedCode;
  }

  [Symbol.dispose](): void {
    this.#lease?.[Symbol.dispose]();
    this.#lease = undefined;
  }
}

/** The model is told, and the new form counts as offered with it. */
async function tellOfChanges(
  session: TaskSession,
  names: readonly string[],
  pins: Readonly<Record<string, string>>,
): Promise<void> {
  const text = changedText(names);
  const nudge = { kind: "nudge", text, code: changedCode, pins } as const;
  await session.commit({
    steps: [{ seq: session.lastStep + 1, round: session.task.round, body: nudge }],
    events: [{ type: "notice", code: changedCode, text }],
  });
}
