import { setTimeout as sleep } from "node:timers/promises";
import { DroverError } from "@drover/kernel";
import {
  type Approval,
  ApprovalSchema,
  ApprovalService,
  ApprovalState,
  ApprovalStateSchema,
  type Decision,
} from "@drover/proto/orchestrator/v1/approval_service";
import { exitCodes } from "../exit-codes.ts";
import { usageFailure } from "../failure.ts";
import { jsonOf, printJson } from "../json-output.ts";
import { readSource } from "../local-files.ts";
import { nameIn } from "../render/names.ts";
import { paletteOf } from "../render/palette.ts";
import { oneLine, padded } from "../render/terminal-text.ts";
import type { Session } from "../session.ts";

/** Fewest characters of an id that stand for the whole. */
const shortestId = 6;
/** Waits between attempts to go on with a watch, ms; a change starts them anew. */
const resumeWaits = [250, 1_000, 5_000, 5_000, 5_000] as const;

/** Lists approvals, newest first; those that wait, where `all` is not set. */
export async function listApprovals(
  session: Session,
  query: { readonly all: boolean; readonly task: string; readonly tool: string },
): Promise<number> {
  const approvals = await found(session, query);
  if (session.json) {
    printJson(session.terminal, { approvals: approvals.map((approval) => jsonOf(ApprovalSchema, approval)) });
  } else if (approvals.length === 0) session.terminal.print("Nothing waits for an approval.\n");
  else for (const approval of approvals) print(session, approval);
  return exitCodes.ok;
}

/** Shows every change of the tenant's approvals after a sequence, then live; ends after `count` changes where it is not 0. */
export async function watchApprovals(
  session: Session,
  options: { readonly from: number; readonly count: number },
): Promise<number> {
  const seen: Approval[] = [];
  let after = BigInt(options.from);
  let told = 0;
  for (let attempt = 0; ; ) {
    try {
      const request = { afterSequence: after };
      for await (const { approval, sequence } of session
        .client(ApprovalService)
        .watchApprovals(request, { signal: session.signal })) {
        after = sequence;
        attempt = 0;
        if (approval === undefined) continue;
        if (session.json) seen.push(approval);
        else print(session, approval);
        if (options.count > 0 && ++told === options.count) return ended(session, seen);
      }
      return ended(session, seen);
    } catch (caught) {
      const error = DroverError.from(caught);
      const waitMs = resumeWaits[attempt++];
      if (error.code !== "UNAVAILABLE" || session.signal.aborted || waitMs === undefined) throw error;
      await sleep(waitMs, undefined, { signal: session.signal });
    }
  }
}

/** Decides an approval: its id, or the beginning of it where only one of those that wait has it. */
export async function decideApproval(
  session: Session,
  written: string,
  options: { readonly decision: Decision; readonly comment: string; readonly edit: string | undefined },
): Promise<number> {
  const asked = await named(session, written);
  const { decision, comment, edit } = options;
  const editedArguments = edit === undefined ? "" : await textOf(session, edit);
  const request = { approvalId: asked.id, decision, argumentsHash: asked.argumentsHash, comment, editedArguments };
  const { approval } = await session.client(ApprovalService).decideApproval(request, { signal: session.signal });
  if (session.json) printJson(session.terminal, { approval: jsonOf(ApprovalSchema, approval) });
  else if (approval !== undefined) print(session, approval);
  return exitCodes.ok;
}

async function found(
  session: Session,
  { all, task, tool }: { readonly all: boolean; readonly task: string; readonly tool: string },
): Promise<readonly Approval[]> {
  const states = all ? [] : [ApprovalState.PENDING];
  const approvals: Approval[] = [];
  let pageToken = "";
  do {
    const request = { states, taskId: task, tool, pageSize: 500, pageToken };
    const page = await session.client(ApprovalService).listApprovals(request, { signal: session.signal });
    approvals.push(...page.approvals);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return approvals;
}

async function named(session: Session, written: string): Promise<Approval> {
  const wanted = written.toLowerCase();
  const approvals = wanted.length < shortestId ? [] : await found(session, { all: true, task: "", tool: "" });
  const fitting = approvals.filter(({ id }) => id.startsWith(wanted));
  const waiting = fitting.filter(({ state }) => state === ApprovalState.PENDING);
  const [only, ...others] = waiting.length > 0 ? waiting : fitting;
  if (only !== undefined && others.length === 0) return only;
  const what = only === undefined ? "No approval is" : "Several approvals are";
  throw usageFailure(`${what} called ${JSON.stringify(written)}.`, "`drover approvals list --all` shows their ids.");
}

async function textOf(session: Session, path: string): Promise<string> {
  const bytes = await readSource(path, session.terminal);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw usageFailure(`${path} is not UTF-8 text.`, "Arguments are one JSON object.");
  }
}

function ended(session: Session, seen: readonly Approval[]): number {
  if (session.json) {
    printJson(session.terminal, { approvals: seen.map((approval) => jsonOf(ApprovalSchema, approval)) });
  }
  return exitCodes.ok;
}

function print({ terminal }: Session, approval: Approval): void {
  const { quiet, waiting, good, bad } = paletteOf(terminal.color);
  const state = nameIn(ApprovalStateSchema, approval.state);
  const { PENDING, APPROVED } = ApprovalState;
  const paint = approval.state === PENDING ? waiting : approval.state === APPROVED ? good : bad;
  const asks = approval.rule === "" ? "its outcome is unknown: send it again?" : `policy ${approval.rule}`;
  const by = approval.decidedBy === "" ? [] : [`by ${approval.decidedBy}${approval.edited ? ", edited" : ""}`];
  const facts = [approval.tool, asks, approval.reason, ...by, approval.comment, `task ${approval.taskId}`];
  const line = facts.filter((fact) => fact !== "").map(oneLine);
  terminal.print(`${approval.id}  ${paint(padded(state, 9))}  ${line.join(" · ")}\n`);
  terminal.print(`    ${quiet(oneLine(approval.argumentsPreview))}\n`);
}
