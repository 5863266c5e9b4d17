import { newId } from "@drover/kernel";
import type { Approval } from "@drover/proto/orchestrator/v1/approval_service";
import { rule } from "../approving.ts";
import type { Replica } from "../harness.ts";
import { promptOf } from "./planned-script.ts";
import type { Random } from "./random.ts";
import type { Recorder } from "./recorder.ts";

/** Words of a program that make a rule ask: the second one is given little time. */
const asked = ["approve", "expire"] as const;

/** Writes the rules by which some calls of the load wait for somebody. */
export async function askAbout(replica: Replica, tenant: string): Promise<void> {
  for (const word of asked) {
    const conditions = [{ path: "code", test: { case: "matches" as const, value: word } }];
    await rule(replica, tenant, { name: word, conditions, expiresMs: word === "expire" ? 1_500n : 0n });
  }
}

/**
 * Submits tasks and watches them as a bystander until `over`; some are cancelled, and some of those resumed, by two at
 * once. Gives the ids that were accepted, and the end of the watches, which `until` ends at the latest.
 */
export async function loadUntil(
  { recorder, bystander }: { readonly recorder: Recorder; readonly bystander: Recorder },
  random: Random,
  over: number,
  until: AbortSignal,
): Promise<{ readonly submitted: readonly string[]; readonly bystanders: Promise<unknown> }> {
  const submitted: string[] = [];
  const watches: Promise<void>[] = [];
  const resumes: Promise<void>[] = [];
  while (performance.now() < over) {
    const taskId = await recorder.submit(promptOf(planOf(random))).catch(() => undefined);
    if (taskId !== undefined) {
      submitted.push(taskId);
      watches.push(bystander.watch(taskId, until));
      if (random.below(3) === 0) {
        await pause(random.below(700));
        const victim = random.below(4) === 0 ? random.pick(submitted) : taskId;
        await recorder.cancel(victim, "chaos");
        if (random.below(2) === 0) resumes.push(resumeSoon(recorder, victim));
      }
    }
    await pause(200 + random.below(600));
  }
  await Promise.all(resumes);
  return { submitted, bystanders: Promise.all(watches) };
}

/** Two ask for it at once, again and again, as long as it may not have ended. */
async function resumeSoon(recorder: Recorder, taskId: string): Promise<void> {
  for (let attempt = 0; attempt < 8; attempt++) {
    const resumed = await Promise.all([recorder.resume(taskId), recorder.resume(taskId)]);
    if (resumed.includes(true)) return;
    await pause(400);
  }
}

/** However the dice fell, one task waits for an approval, is cancelled in the middle of a call and resumed. */
export async function resumeOne(recorder: Recorder, began: (program: string) => boolean): Promise<void> {
  const mark = newId();
  const held = `sleep 600000 ${mark}`;
  const taskId = (await recorder.submit(promptOf([[`print approve ${mark}`], [held], [`print ${mark}`]]))) ?? "";
  while (!began(held)) await pause(50);
  await recorder.cancel(taskId, "chaos");
  while (!(await recorder.resume(taskId))) await pause(100);
}

/** Decides whatever waits, several deciders at once and each as they like, until the signal aborts. */
export async function decideUntil(recorder: Recorder, random: Random, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const waiting = (await recorder.pending()).filter(({ rule: name }) => name !== "expire" || random.below(8) === 0);
    await Promise.all(
      waiting.flatMap((approval) =>
        Array.from({ length: 1 + random.below(3) }, (_, n) => {
          const by = `decider-${n}`;
          return recorder.decide(approval, by, decisionOf(approval, by, random));
        }),
      ),
    );
    await pause(150);
  }
}

function decisionOf(approval: Approval, by: string, random: Random): { deny?: boolean; edited?: string } {
  const dice = random.below(5);
  if (dice === 0) return { deny: true };
  if (dice > 1) return {};
  const { code, ...others }: { readonly code: string } = JSON.parse(approval.argumentsPreview);
  return { edited: JSON.stringify({ ...others, code: `print edited by ${by} in the place of ${code}` }) };
}

function planOf(random: Random): string[][] {
  const mark = newId();
  return Array.from({ length: 1 + random.below(3) }, (_, round) =>
    Array.from({ length: 1 + random.below(3) }, (_call, call) => {
      const name = `${mark} ${round} ${call}`;
      const dice = random.below(10);
      if (dice === 0) return `print expire ${name}`;
      if (dice < 3) return `sleep ${random.below(300)} approve ${name}`;
      return dice < 6 ? `print ${name}` : `sleep ${random.below(700)} ${name}`;
    }),
  );
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
