import { setTimeout as delay } from "node:timers/promises";
import type { ServiceImpl } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import { ExtractionOutcome, type FactService } from "@drover/proto/memory/v1/fact_service";
import { callerOf } from "@drover/rpc";

/** Long-term memory of the fake peers: it remembers what it was asked, and takes the same for every task. */
export class FakeFacts {
  /** Tasks that it was asked about, each time. */
  readonly asked: string[] = [];
  /** Tasks that it has looked at; asked again it only tells what that took. */
  readonly looked = new Set<string>();
  /** In whose name. */
  readonly subjects = new Set<string>();
  on = false;
  down = false;
  /** Before it answers, ms. */
  delayMs = 0;

  readonly service: Partial<ServiceImpl<typeof FactService>> = {
    extractFacts: async ({ taskId }, context) => {
      if (!this.on) return { outcome: ExtractionOutcome.DISABLED };
      this.asked.push(taskId);
      const { tenant, subject, scopes } = callerOf(context);
      this.subjects.add(`${tenant}/${subject}/${scopes.join(" ")}`);
      await delay(this.delayMs, undefined, { signal: context.signal });
      if (this.down) throw new DroverError("UNAVAILABLE", "The model is away.");
      this.looked.add(taskId);
      const usage = { inputTokens: 100n, outputTokens: 10n, cachedInputTokens: 1n, reasoningTokens: 2n };
      return { outcome: ExtractionOutcome.EXTRACTED, added: 1, usage: { ...usage, costNanoUsd: 5n } };
    },
  };
}
