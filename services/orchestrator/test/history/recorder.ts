import { toJsonString } from "@bufbuild/protobuf";
import { DroverError } from "@drover/kernel";
import { TaskEventSchema } from "@drover/proto/event/v1/task_event";
import { type Approval, ApprovalState } from "@drover/proto/orchestrator/v1/approval_service";
import { decide, decider } from "../approving.ts";
import type { Replica } from "../harness.ts";
import type { AskedDecision, Operation, SeenEvent, Watched } from "./history.ts";

/** Codes after which nobody can say whether it happened. */
const unknowing = new Set(["UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "INTERNAL", "ABORTED"]);
/** Reasons of a refusal under such a code: it did not happen. */
const refusals = new Set(["ALREADY_DECIDED", "ARGUMENTS_CHANGED", "VERSION_MISMATCH"]);
const callMs = 5_000;

interface Watch {
  readonly events: SeenEvent[];
  /** The newest event is the one of an end. */
  ended: boolean;
  complete: boolean;
}

/** What an answer said; the decision is the one that was asked for, with what it said of the outcome. */
type Answer = Pick<Operation, "taskId" | "accepted" | "decision">;

/** Clients of a tenant, with everything that they asked for and saw. */
export class Recorder {
  readonly operations: Operation[] = [];
  readonly #tenant: string;
  /** A replica to ask; another one at every call. */
  readonly #any: () => Replica;
  readonly #watches = new Map<string, Watch>();

  constructor(tenant: string, any: () => Replica) {
    this.#tenant = tenant;
    this.#any = any;
  }

  get watches(): Watched[] {
    return [...this.#watches].map(([taskId, { events, complete }]) => ({ taskId, events, complete }));
  }

  /** The id of the task, or undefined where it was refused or the answer was lost. */
  async submit(prompt: string): Promise<string | undefined> {
    const { outcome, taskId } = await this.#record("submit", { taskId: "", accepted: false }, async (replica) => {
      const { task } = await replica.client.submitTask({ prompt }, this.#options(replica));
      return { taskId: task?.id ?? "", accepted: true };
    });
    return outcome === "ok" ? taskId : undefined;
  }

  async cancel(taskId: string, reason: string): Promise<void> {
    await this.#record("cancel", { taskId, accepted: false }, async (replica) => {
      const { task } = await replica.client.cancelTask({ taskId, reason }, this.#options(replica));
      return { taskId, accepted: task?.cancelRequested === true };
    });
  }

  /** True where the task goes on. */
  async resume(taskId: string): Promise<boolean> {
    const { outcome } = await this.#record("resume", { taskId, accepted: false }, async (replica) => {
      await replica.client.resumeTask({ taskId }, this.#options(replica));
      return { taskId, accepted: true };
    });
    return outcome === "ok";
  }

  /** Ids of every task of the tenant. */
  async listed(): Promise<readonly string[]> {
    const replica = this.#any();
    const { tasks } = await replica.client.listTasks({ pageSize: 500 }, this.#options(replica));
    return tasks.map(({ id }) => id);
  }

  /** Approvals of the tenant that wait, or none where nobody answers. */
  async pending(): Promise<readonly Approval[]> {
    const replica = this.#any();
    const query = { states: [ApprovalState.PENDING], pageSize: 500 };
    const options = { ...decider(replica, this.#tenant), timeoutMs: callMs };
    const listed = await replica.approvals.listApprovals(query, options).catch(() => undefined);
    return listed?.approvals ?? [];
  }

  /** Decides as `by`; `edited` are arguments in the place of the model's. */
  async decide(
    approval: Approval,
    by: string,
    how: { readonly deny?: boolean; readonly edited?: string },
  ): Promise<void> {
    const { taskId, id: approvalId, callId } = approval;
    const state = how.deny === true ? "DENIED" : "APPROVED";
    const decision: AskedDecision = { approvalId, callId, state, by, edited: how.edited !== undefined };
    await this.#record("decide", { taskId, accepted: false, decision }, async (replica) => {
      const decided = await decide(replica, this.#tenant, approval, { ...how, subject: by });
      const told = { state: nameOf(decided?.state), by: decided?.decidedBy ?? "" };
      return { taskId, accepted: true, decision: { ...decision, told, edited: decided?.edited === true } };
    });
  }

  /** Follows a task to its end over any number of broken streams, or until the signal aborts. */
  async watch(taskId: string, signal: AbortSignal): Promise<void> {
    const watch: Watch = { events: [], ended: false, complete: false };
    this.#watches.set(taskId, watch);
    while (!watch.complete && !signal.aborted) {
      await this.#follow(taskId, watch, signal).catch(() => new Promise((resolve) => setTimeout(resolve, 100)));
    }
  }

  async #follow(taskId: string, watch: Watch, signal: AbortSignal) {
    const replica = this.#any();
    const request = { taskId, afterSequence: BigInt(watch.events.length) };
    const stream = replica.client.watchTask(request, {
      ...replica.as(this.#tenant),
      signal: AbortSignal.any([signal, AbortSignal.timeout(callMs)]),
    });
    for await (const { message } of stream) {
      if (message.case !== "event") continue;
      const { sequence, event } = message.value;
      watch.events.push({ sequence: Number(sequence), text: toJsonString(TaskEventSchema, message.value) });
      watch.ended = event.case === "taskCompleted";
    }
    // The server ended the stream itself: nothing follows, unless somebody resumes the task.
    watch.complete = watch.ended;
  }

  #options(replica: Replica) {
    return { ...replica.as(this.#tenant), timeoutMs: callMs };
  }

  async #record(
    kind: Operation["kind"],
    asked: Answer,
    ask: (replica: Replica) => Promise<Answer>,
  ): Promise<Operation> {
    const invokedAt = performance.now();
    const settled = (outcome: Operation["outcome"], answer: Answer) => {
      const operation = { kind, invokedAt, settledAt: performance.now(), outcome, ...answer };
      this.operations.push(operation);
      return operation;
    };
    try {
      return settled("ok", await ask(this.#any()));
    } catch (error) {
      const { code, reason, metadata } = DroverError.from(error);
      const { state, decided_by: by } = metadata;
      const told = reason === "ALREADY_DECIDED" && state !== undefined && by !== undefined ? { state, by } : undefined;
      const decision = asked.decision && { ...asked.decision, ...(told && { told }) };
      const failed = refusals.has(reason) || !unknowing.has(code);
      return settled(failed ? "failed" : "unknown", { ...asked, ...(decision && { decision }) });
    }
  }
}

function nameOf(state: ApprovalState | undefined): string {
  return Object.entries(ApprovalState).find(([, number]) => number === state)?.[0] ?? String(state);
}
