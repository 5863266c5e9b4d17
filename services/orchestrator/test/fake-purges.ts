import { DroverError, newId } from "@drover/kernel";
import type { PurgeClaim, PurgeStore, PurgeTargets } from "../src/application/purge-ports.ts";
import { erasingServices, type PurgeProgress, type PurgeSubject } from "../src/domain/purge.ts";

type Target = { readonly task: string; readonly workspace: string; readonly trace: string };

/** The record of one removal in memory. `time` goes on only when a test says so; `crashAt` is the write that is lost. */
export class FakePurges {
  readonly id = newId();
  time = 0;
  writes = 0;
  crashAt: number | undefined;
  epoch = 0;
  held = false;
  nextAt = 0;
  completed = false;
  explained = "";
  /** Tasks that have not ended. */
  readonly living = new Set<string>();
  lastEnd = Number.NEGATIVE_INFINITY;
  /** The orchestrator's own rows. */
  own: string[];
  readonly parts = new Map<string, PurgeProgress & { nextAt: number }>(
    erasingServices.map((service) => [
      service,
      {
        ...{ service, done: false, removed: 0, problem: "", passes: 0, found: 0, position: undefined, failures: 0 },
        nextAt: 0,
      },
    ]),
  );
  readonly #targets: readonly Target[];
  readonly #subject: PurgeSubject;

  constructor(subject: PurgeSubject, targets: readonly Target[]) {
    this.#subject = subject;
    this.#targets = targets;
    this.own = targets.map(({ task }) => task);
  }

  get store(): PurgeStore {
    return {
      begin: async () => ({ outcome: "created", id: this.id }),
      get: async () => undefined,
      claim: async () => this.#claim(),
      living: async (claim, limit) => {
        this.#write(claim);
        return { taskIds: [...this.living].slice(0, limit), count: this.living.size };
      },
      settle: async (claim, settleMs) => {
        this.#write(claim);
        return Math.max(0, this.lastEnd + settleMs - this.time);
      },
      open: async (claim) => {
        this.#write(claim);
        const open = [...this.parts.values()].filter(({ done }) => !done);
        return open.map((part) => ({ ...part, due: part.nextAt <= this.time })) as never;
      },
      targets: async (claim, after, limit) => {
        this.#write(claim);
        return this.#page(after, limit);
      },
      record: async (claim, { waitMs, removed, ...step }) => {
        this.#write(claim);
        const before = this.parts.get(step.service)?.removed ?? 0;
        this.parts.set(step.service, { ...step, removed: before + removed, nextAt: this.time + waitMs });
      },
      explain: async (claim, problem) => {
        this.#write(claim);
        this.explained = problem;
      },
      removeOwn: async (claim, limit) => {
        this.#write(claim);
        this.own.splice(0, limit);
        this.completed = this.own.length === 0;
        return this.completed;
      },
      release: async (claim, delayMs) => {
        this.#write(claim);
        const waits = [...this.parts.values()].filter(({ done }) => !done).map(({ nextAt }) => nextAt);
        this.nextAt = delayMs === undefined ? Math.min(...waits) : this.time + delayMs;
        this.held = false;
      },
      forget: async () => undefined,
    };
  }

  /** Time goes on to when the removal is due; a claim that nobody gave back has run out by then. */
  wait(): void {
    this.time = Math.max(this.time, this.nextAt);
    this.held = false;
  }

  #claim(): PurgeClaim | undefined {
    if (this.completed || this.held || this.nextAt > this.time) return undefined;
    this.held = true;
    this.epoch += 1;
    return { tenant: "acme", id: this.id, epoch: this.epoch, requestedBy: "officer", ...this.#subject };
  }

  #page(after: string | undefined, limit: number): PurgeTargets & { position: string | undefined; last: boolean } {
    const page = this.#targets.filter(({ task }) => after === undefined || task > after).slice(0, limit);
    return {
      taskIds: page.map(({ task }) => task),
      workspaceIds: page.map(({ workspace }) => workspace),
      traceIds: page.map(({ trace }) => trace),
      position: page.at(-1)?.task,
      last: page.length < limit,
    };
  }

  #write({ epoch }: PurgeClaim): void {
    if (epoch !== this.epoch) throw new DroverError("ABORTED", "Another replica has it.", { reason: "LEASE_LOST" });
    if (this.writes++ !== this.crashAt) return;
    throw new DroverError("UNAVAILABLE", "The process was killed here.");
  }
}
