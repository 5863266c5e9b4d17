import { DroverError } from "@drover/kernel";
import type { Elsewhere, OwnedTask, Taken } from "../domain/session-place.ts";
import type { Log } from "./ports.ts";

/**
 * Rows that say which instance has the sessions of a task. Leases end by the database's clock, and every taking has a
 * higher epoch than the one before it.
 */
export interface OwnerRows {
  /**
   * Takes the task's row where nobody has it or its owner is dead, whose executions for the task then end as lost in the same
   * transaction. Without `create` only a dead owner's is taken, so that a task that has no session gets no row.
   */
  take(tenant: string, taskId: string, create: boolean): Promise<Taken>;
  /** Where an execution runs, by its id or call id; `dead` where its instance is, `here` also where it has ended or is nobody's. */
  placeOf(
    tenant: string,
    key: { readonly id: string } | { readonly callId: string },
  ): Promise<Elsewhere | { readonly kind: "here" | "dead" }>;
  /** Whether the row is still as this instance took it. */
  has(task: OwnedTask): Promise<boolean>;
  /** Prolongs all leases of this instance; gives those it still has. */
  renew(): Promise<readonly OwnedTask[]>;
  /** Lets go of a row, unless it was taken again. */
  release(task: OwnedTask): Promise<void>;
}

/** A share in this instance's ownership of a task; the row is let go of when all shares are left. */
export interface Share {
  readonly kind: "here";
  readonly epoch: number;
  /** Aborts when another instance has taken the task. */
  readonly lost: AbortSignal;
  /** Again is no error; never rejects. */
  leave(): Promise<void>;
}

interface Held {
  readonly taking: Promise<Taken>;
  readonly lost: AbortController;
  epoch: number | undefined;
  shares: number;
}

/** Which tasks' sessions this instance has, and who has the others. */
export class SessionOwners {
  readonly #rows: OwnerRows;
  readonly #loseOrphans: () => Promise<unknown>;
  readonly #log: Log;
  readonly #held = new Map<string, Held>();

  constructor(rows: OwnerRows, loseOrphans: () => Promise<unknown>, log: Log) {
    this.#rows = rows;
    this.#loseOrphans = loseOrphans;
    this.#log = log;
  }

  /** Takes the task for this instance, from a dead one where need be; or tells who has it. */
  async take(tenant: string, taskId: string): Promise<Share | Elsewhere> {
    const key = `${tenant}/${taskId}`;
    await this.#check(key, tenant, taskId);
    let held = this.#held.get(key);
    if (held === undefined) {
      held = {
        taking: this.#rows.take(tenant, taskId, true),
        lost: new AbortController(),
        epoch: undefined,
        shares: 0,
      };
      this.#held.set(key, held);
    }
    held.shares++;
    const taken = await held.taking.catch((error: unknown) => {
      this.#forget(key, held);
      throw error;
    });
    if (taken.kind !== "here") {
      this.#forget(key, held);
      if (taken.kind === "there") return taken;
      throw new DroverError("INTERNAL", "Nobody has the task's sessions.");
    }
    if (held.epoch === undefined) this.#tell(tenant, taskId, taken);
    held.epoch = taken.epoch;
    return this.#share(key, held, { tenant, taskId, epoch: taken.epoch });
  }

  /** Who else has the task's sessions; a dead owner's commands are lost from then on, and nobody has them. */
  async elsewhere(tenant: string, taskId: string): Promise<Elsewhere | undefined> {
    const key = `${tenant}/${taskId}`;
    await this.#check(key, tenant, taskId);
    if (this.#held.has(key)) return undefined;
    const taken = await this.#rows.take(tenant, taskId, false);
    if (taken.kind === "there") return taken;
    if (taken.kind === "here") {
      this.#tell(tenant, taskId, taken);
      await this.#release({ tenant, taskId, epoch: taken.epoch });
    }
    return undefined;
  }

  /** Who else runs the execution; one whose instance is dead has ended as lost when this resolves. */
  async runsElsewhere(
    tenant: string,
    key: { readonly id: string } | { readonly callId: string },
  ): Promise<Elsewhere | undefined> {
    const place = await this.#rows.placeOf(tenant, key);
    if (place.kind === "there") return place;
    if (place.kind === "dead") await this.#loseOrphans();
    return undefined;
  }

  /** Prolongs the leases. What another instance has taken meanwhile is lost: its sessions end here. */
  async renew(): Promise<void> {
    const before = [...this.#held].filter(([, { epoch }]) => epoch !== undefined);
    if (before.length === 0) return;
    const kept = new Map((await this.#rows.renew()).map(({ tenant, taskId, epoch }) => [`${tenant}/${taskId}`, epoch]));
    for (const [key, held] of before) {
      if (kept.get(key) !== held.epoch) this.#lose(key, held);
    }
  }

  /** Lets go of a task that the database knows as another's. */
  async #check(key: string, tenant: string, taskId: string): Promise<void> {
    const held = this.#held.get(key);
    if (held?.epoch === undefined) return;
    if (!(await this.#rows.has({ tenant, taskId, epoch: held.epoch }))) this.#lose(key, held);
  }

  #lose(key: string, held: Held): void {
    if (this.#held.get(key) !== held) return;
    this.#log.warn({ task: key, epoch: held.epoch }, "another instance has taken the sessions of a task");
    this.#forget(key, held);
    held.lost.abort();
  }

  #share(key: string, held: Held, task: OwnedTask): Share {
    let left = false;
    return {
      kind: "here",
      epoch: task.epoch,
      lost: held.lost.signal,
      leave: async () => {
        if (left) return;
        left = true;
        if (--held.shares > 0 || held.lost.signal.aborted) return;
        this.#forget(key, held);
        await this.#release(task);
      },
    };
  }

  async #release(task: OwnedTask): Promise<void> {
    await this.#rows.release(task).catch((error: unknown) => {
      this.#log.warn(
        { err: error, task_id: task.taskId },
        "the row of a task's sessions is left until its lease is over",
      );
    });
  }

  #forget(key: string, held: Held | undefined): void {
    if (this.#held.get(key) === held) this.#held.delete(key);
  }

  #tell(tenant: string, taskId: string, { from, lost, epoch }: Extract<Taken, { kind: "here" }>): void {
    if (from === "") return;
    const fields = { tenant, task_id: taskId, from, epoch, executions: lost };
    this.#log.warn(fields, "the sessions of a dead instance were taken over");
  }
}

/** UNAVAILABLE: another instance has the sessions; whoever asks again finds it. */
export function sessionMoved(): DroverError {
  const message = "The task's session is in another instance by now; try again.";
  return new DroverError("UNAVAILABLE", message, { reason: "SESSION_MOVED", retryAfterMs: 500 });
}
