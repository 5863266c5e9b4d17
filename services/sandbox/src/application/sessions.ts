import { type Clock, DroverError, newId } from "@drover/kernel";
import { type Execution, emptyResult } from "../domain/execution.ts";
import { imageOf, languageNamed } from "../domain/language.ts";
import { counted } from "../domain/quantities.ts";
import { reachedLimit, type SessionShare } from "../domain/session-share.ts";
import { outcomeOf } from "../domain/verdict.ts";
import { LiveRun } from "./live-run.ts";
import type { LiveRuns } from "./live-runs.ts";
import { reasonOf } from "./program-watch.ts";
import { recordContainer } from "./record-container.ts";
import { type DriverParts, lifetimeMarginMs } from "./run-driver.ts";
import type { RunParts } from "./run-program.ts";
import { Session, type SessionParts } from "./session.ts";
import { type SessionOwners, type Share, sessionMoved } from "./session-owner.ts";
import type { ShellLimits } from "./shell-request.ts";

/** What the registry works with. */
export type SessionsParts = Omit<RunParts, keyof DriverParts> &
  Omit<DriverParts, "onStarted"> &
  SessionParts & {
    readonly live: LiveRuns;
    readonly clock: Clock;
    readonly sessions: SessionSettings;
    readonly owners: SessionOwners;
  };

/** How many sessions there may be and how long they live. */
export interface SessionSettings extends ShellLimits {
  readonly most: number;
  /** Of them, and of the memory, what one tenant may have. */
  readonly share: SessionShare;
  readonly idleMs: number;
}

/** Longest life of a session, whatever it does. */
const longestMs = 24 * 3_600_000;
/** A session waits this long for memory: a run whose end is told gives its own back when its container is gone. */
const patienceMs = 2000;

/**
 * The session containers of this process, one a task. A session is recorded as an execution of the
 * language `session`, so that its container is found and removed like any other.
 */
export class Sessions implements AsyncDisposable {
  readonly #parts: SessionsParts;
  readonly #open = new Map<string, Promise<Session>>();
  readonly #ends = new Set<Promise<void>>();
  /** Those that have a container, also while it goes. */
  readonly #here = new Set<Session>();
  /** Sessions and memory of each tenant, from before the start of a container until it is gone. */
  readonly #used = new Map<string, SessionShare>();

  constructor(parts: SessionsParts) {
    this.#parts = parts;
    parts.admission.onShort = () => void this.#makeRoom();
  }

  /**
   * The task's session, started where there is none and counted as used until {@link leave}. RESOURCE_EXHAUSTED
   * with a time to wait where there is no room for another one, or the tenant has its share, and none is idle.
   */
  async of(tenant: string, taskId: string, workspaceId: string): Promise<Session> {
    const key = `${tenant}/${taskId}/${workspaceId}`;
    const open = this.#open.get(key);
    if (open !== undefined) {
      const session = await open;
      session.lastUsedMs = this.#parts.clock.monotonicMs();
      if (session.container.alive && !session.run.cancelSignal.aborted) {
        session.users++;
        return session;
      }
      session.run.cancel("daemon");
      if (this.#open.get(key) === open) this.#open.delete(key);
      return await this.of(tenant, taskId, workspaceId);
    }
    if (this.#open.size >= this.#parts.sessions.most) {
      await this.#roomOrRefusal(
        `all tenants together have ${counted(this.#open.size, "session")}`,
        "DROVER_SANDBOX_SESSIONS",
      );
      return await this.of(tenant, taskId, workspaceId);
    }
    const opening = this.#start(tenant, taskId, workspaceId, () => {
      if (this.#open.get(key) === opening) this.#open.delete(key);
    });
    this.#open.set(key, opening);
    opening.catch(() => this.#open.delete(key));
    return await opening;
  }

  /** The command for which {@link of} gave the session is over. */
  leave(session: Session): void {
    session.users--;
    session.lastUsedMs = this.#parts.clock.monotonicMs();
    if (this.#parts.admission.short) void this.#makeRoom();
  }

  /** Ends the task's sessions, commands included, after what changed is committed; resolves when they are gone. */
  async end(tenant: string, taskId: string): Promise<void> {
    const ends: Promise<void>[] = [];
    for (const [key, opening] of [...this.#open]) {
      if (!key.startsWith(`${tenant}/${taskId}/`)) continue;
      const session = await opening.catch(() => undefined);
      if (session === undefined) continue;
      await session.sync().catch(() => undefined);
      ends.push(session.ended);
      session.run.cancel("operator");
    }
    await Promise.all(ends);
  }

  /** Ends sessions in which nothing ran or was asked for as long as is allowed. */
  async expire(): Promise<void> {
    const before = this.#parts.clock.monotonicMs() - this.#parts.sessions.idleMs;
    for (const opening of [...this.#open.values()]) {
      const session = await opening.catch(() => undefined);
      if (session !== undefined && session.users === 0 && session.lastUsedMs < before) session.run.cancel("operator");
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const opening of this.#open.values()) {
      await opening.then(
        (session) => session.run.cancel("daemon"),
        () => undefined,
      );
    }
    await Promise.all(this.#ends);
  }

  /** Resolves when a session that goes, or the one that was idle longest, is gone; undefined where there is none, of the tenant where one is named. */
  #makeRoom(tenant?: string): Promise<void> | undefined {
    const here = [...this.#here].filter(({ run }) => tenant === undefined || run.execution.tenant === tenant);
    const going = here.filter(({ run }) => run.cancelSignal.aborted);
    if (going.length > 0) return Promise.race(going.map(({ ended }) => ended));
    const [oldest] = here.filter(({ users }) => users === 0).sort((a, b) => a.lastUsedMs - b.lastUsedMs);
    oldest?.run.cancel("operator");
    return oldest?.ended;
  }

  async #roomOrRefusal(full: string, limit: string, tenant?: string): Promise<void> {
    const room = this.#makeRoom(tenant);
    if (room === undefined) throw tooMany(full, limit);
    await room;
  }

  /** Takes the place of a session within its tenant's share, and its memory; gives what gives both back. */
  async #place(tenant: string): Promise<() => void> {
    const { admission, policy, sessions, clock } = this.#parts;
    const { memoryBytes } = policy.defaults;
    const until = clock.monotonicMs() + patienceMs;
    for (;;) {
      const reached = reachedLimit(this.#usedBy(tenant), memoryBytes, sessions.share);
      if (reached !== undefined) {
        await this.#roomOrRefusal(reached.full, reached.limit, tenant);
        continue;
      }
      const giveBack = admission.hold(memoryBytes);
      if (giveBack !== undefined) return this.#counted(tenant, memoryBytes, giveBack);
      const leftMs = until - clock.monotonicMs();
      const freed = this.#makeRoom() ?? (leftMs > 0 ? within(admission.freed(), leftMs, clock) : undefined);
      if (freed === undefined) throw tooMany(admission.holders, "DROVER_SANDBOX_MEMORY_BUDGET");
      await freed;
    }
  }

  #usedBy(tenant: string): SessionShare {
    return this.#used.get(tenant) ?? { sessions: 0, memoryBytes: 0 };
  }

  #counted(tenant: string, bytes: number, giveBack: () => void): () => void {
    const add = (sign: 1 | -1) => {
      const { sessions, memoryBytes } = this.#usedBy(tenant);
      if (sessions + sign === 0) this.#used.delete(tenant);
      else this.#used.set(tenant, { sessions: sessions + sign, memoryBytes: memoryBytes + sign * bytes });
    };
    add(1);
    return () => {
      add(-1);
      giveBack();
    };
  }

  async #start(tenant: string, taskId: string, workspaceId: string, forget: () => void): Promise<Session> {
    const share = await this.#parts.owners.take(tenant, taskId);
    if (share.kind === "there") throw sessionMoved();
    try {
      const giveBack = await this.#place(tenant);
      try {
        return await this.#startIn(tenant, taskId, workspaceId, share, forget, giveBack);
      } catch (error) {
        giveBack();
        throw error;
      }
    } catch (error) {
      await share.leave();
      throw error;
    }
  }

  async #startIn(
    tenant: string,
    taskId: string,
    workspaceId: string,
    share: Share,
    forget: () => void,
    giveBack: () => void,
  ): Promise<Session> {
    const { engine, live, clock, executions, policy, settings } = this.#parts;
    const execution = this.#draft(tenant, taskId, workspaceId);
    await engine.check(execution.image, AbortSignal.timeout(settings.startTimeoutMs));
    await executions.accept(execution, "", undefined);
    const run = new LiveRun(execution);
    const release = live.hold(run);
    try {
      const signal = AbortSignal.any([run.cancelSignal, AbortSignal.timeout(settings.startTimeoutMs)]);
      const { id: runId, image } = execution;
      const lifetimeMs = longestMs + lifetimeMarginMs;
      const container = await engine.start(
        { runId, taskId, tenant, image, limits: policy.defaults, lifetimeMs },
        signal,
      );
      const face = container.session;
      if (face === undefined) {
        await container[Symbol.asyncDispose]();
        throw new DroverError("INTERNAL", `The backend ${engine.name} has sessions, and its container has none.`);
      }
      await recordContainer(this.#parts, execution, container.id);
      await executions.started(tenant, runId, clock.now());
      const session = new Session(run, container, face, share, this.#parts);
      this.#here.add(session);
      const gone = async () => {
        this.#here.delete(session);
        release();
        giveBack();
        await share.leave();
      };
      const end = this.#untilCancelled(session, forget, gone).finally(() => this.#ends.delete(end));
      this.#ends.add(end);
      session.ended = end;
      return session;
    } catch (error) {
      release();
      await executions.withdraw(tenant, execution.id).catch(() => undefined);
      throw error;
    }
  }

  async #untilCancelled(session: Session, forget: () => void, gone: () => Promise<void>): Promise<void> {
    const { cancelSignal, execution } = session.run;
    const cancelled = Promise.withResolvers<void>();
    cancelSignal.addEventListener("abort", () => cancelled.resolve(), { once: true });
    if (cancelSignal.aborted) cancelled.resolve();
    const timer = new AbortController();
    await Promise.race([cancelled.promise, this.#parts.clock.sleep(longestMs, timer.signal).catch(() => undefined)]);
    timer.abort();
    forget();
    try {
      await session.container[Symbol.asyncDispose]();
    } catch (error) {
      this.#parts.log.error({ err: error, container: session.container.id }, "a container could not be removed");
    }
    const idle = cancelSignal.reason === "operator";
    const facts = { oomSeen: false, wallLimitMs: execution.limits.wallMs };
    const outcome = idle
      ? outcomeOf({ ...facts, killedBy: "", exit: { code: 0 } })
      : outcomeOf({ ...facts, killedBy: reasonOf(cancelSignal) });
    const ended = { ...execution, endedAt: this.#parts.clock.now(), result: emptyResult(outcome) };
    await this.#parts.executions.finish(ended).catch((error: unknown) => {
      this.#parts.log.warn({ err: error, execution: execution.id }, "the end of a session could not be recorded");
    });
    await gone();
  }

  #draft(tenant: string, taskId: string, workspaceId: string): Execution {
    const { clock, engine, languages, policy, settings } = this.#parts;
    return {
      id: newId(),
      tenant,
      callId: newId(),
      taskId,
      language: "session",
      image: imageOf(languageNamed("bash", languages), settings.imagePrefix),
      runtime: engine.runtime,
      limits: policy.defaults,
      workspaceId,
      workspaceVersionBefore: 0,
      acceptedAt: clock.now(),
    };
  }
}

function tooMany(full: string, limit: string): DroverError {
  const message = `No session can be started: ${full} (${limit}), and no session is idle; try again later.`;
  return new DroverError("RESOURCE_EXHAUSTED", message, {
    reason: "TOO_MANY_SESSIONS",
    retryAfterMs: 5000,
    metadata: { limit },
  });
}

/** Resolves with the work, or when the time is over. */
async function within(work: Promise<void>, ms: number, clock: Clock): Promise<void> {
  const timer = new AbortController();
  await Promise.race([work, clock.sleep(ms, timer.signal).catch(() => undefined)]);
  timer.abort();
}
