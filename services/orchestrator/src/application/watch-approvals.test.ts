import { DroverError, systemClock } from "@drover/kernel";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Approval, ApprovalStore } from "./decision-ports.ts";
import type { TaskSignals } from "./ports.ts";
import { ApprovalHubs } from "./watch-approvals.ts";

/** A log of approvals that answers late, and whose hints may be lost. */
class FakeLog {
  last = 0;
  reads = 0;
  readonly hints = new Set<() => void>();
  readonly approvals: Pick<ApprovalStore, "newest" | "changes"> = {
    newest: async () => {
      const { last } = this;
      await this.#late();
      return last;
    },
    changes: async (_tenant, after, limit) => {
      const { last } = this;
      await this.#late();
      const count = Math.min(limit, last - after);
      return Array.from({ length: count }, (_, index) => ({ sequence: after + index + 1 }) as Approval);
    },
  };
  readonly signals = {
    follow: (_tenant: string, _task: string, { onHint }: { readonly onHint: () => void }) => {
      this.hints.add(onHint);
      return { [Symbol.dispose]: () => void this.hints.delete(onHint) };
    },
  } as unknown as TaskSignals;

  add(count: number, hinted: boolean): void {
    this.last += count;
    if (hinted) for (const hint of this.hints) hint();
  }

  async #late(): Promise<void> {
    this.reads++;
    for (let turn = this.reads % 4; turn > 0; turn--) await new Promise((resolve) => setImmediate(resolve));
  }
}

function hubsOf(log: FakeLog, heartbeatMs = 60_000): ApprovalHubs {
  const onFault = (fault: unknown) => {
    throw fault;
  };
  const { approvals, signals } = log;
  const store = approvals as ApprovalStore;
  return new ApprovalHubs({ approvals: store, signals, clock: systemClock, heartbeatMs, pollMs: 5, onFault });
}

test("every change comes once and in order, whatever comes while it is read and however many hints are lost", async () => {
  const added = fc.array(fc.record({ count: fc.integer({ min: 1, max: 150 }), hinted: fc.boolean() }), {
    maxLength: 6,
  });
  await fc.assert(
    fc.asyncProperty(added, fc.nat(3), async (additions, start) => {
      const log = new FakeLog();
      log.add(start, false);
      await using hubs = hubsOf(log);
      const total = additions.reduce((sum, { count }) => sum + count, start + 1);
      const follow = async () => {
        const seen: number[] = [];
        for await (const { approval } of hubs.watch("acme", 0, new AbortController().signal)) {
          if (approval !== undefined) seen.push(approval.sequence);
          if (seen.length === total) break;
        }
        return seen;
      };
      const watching = Promise.all([follow(), follow()]);
      for (const { count, hinted } of additions) {
        log.add(count, hinted);
        await new Promise((resolve) => setImmediate(resolve));
      }
      log.add(1, false);
      const whole = Array.from({ length: total }, (_, index) => index + 1);
      expect(await watching).toEqual([whole, whole]);
      expect(log.hints.size).toBe(0);
    }),
    { numRuns: 30 },
  );
});

test("silence is broken by heartbeats, and a server that shuts down says where to go on", async () => {
  const log = new FakeLog();
  const hubs = hubsOf(log, 1);
  const messages = hubs.watch("acme", 0, new AbortController().signal);
  for (let count = 0; count < 3; count++)
    expect((await messages.next()).value).toEqual({ approval: undefined, sequence: 0 });
  await hubs[Symbol.asyncDispose]();
  const drained = (async () => {
    for (;;) await messages.next();
  })();
  await expect(drained).rejects.toThrow(DroverError);
  await expect(hubsOf(log).watch("acme", 1, new AbortController().signal).next()).rejects.toThrow(/after_sequence/);
});
