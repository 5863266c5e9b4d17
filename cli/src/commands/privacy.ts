import { setTimeout as sleep } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  PrivacyService,
  type PurgePart,
  type PurgeReceipt,
  PurgeReceiptSchema,
  type PurgeRequestSchema,
} from "@drover/proto/orchestrator/v1/privacy_service";
import { exitCodes } from "../exit-codes.ts";
import { jsonOf, printJson } from "../json-output.ts";
import { paletteOf } from "../render/palette.ts";
import { oneLine, padded } from "../render/terminal-text.ts";
import type { Session } from "../session.ts";

/** Between two looks at a removal that is waited for, ms. */
const lookMs = 1_000;

/** Begins a removal, and waits for its end where that is wanted; Ctrl-C leaves it going. */
export async function requestPurge(
  session: Session,
  options: {
    readonly requestId: string;
    readonly wait: boolean;
    readonly subject: NonNullable<MessageInitShape<typeof PurgeRequestSchema>["subject"]>;
  },
): Promise<number> {
  const { requestId, subject, wait } = options;
  const { signal } = session;
  const { receipt } = await session.client(PrivacyService).purge({ requestId, subject }, { signal });
  return await follow(session, receipt, wait);
}

/** Shows how far a removal is, and waits for its end where that is wanted. */
export async function showPurge(session: Session, purgeId: string, wait: boolean): Promise<number> {
  return await follow(session, await receiptOf(session, purgeId), wait);
}

async function follow(session: Session, first: PurgeReceipt | undefined, wait: boolean): Promise<number> {
  let receipt = first;
  while (wait && receipt !== undefined && receipt.completedAt === undefined) {
    await sleep(lookMs, undefined, { signal: session.signal });
    receipt = await receiptOf(session, receipt.id);
  }
  if (session.json) printJson(session.terminal, { receipt: jsonOf(PurgeReceiptSchema, receipt) });
  else if (receipt !== undefined) print(session, receipt);
  return exitCodes.ok;
}

async function receiptOf({ client, signal }: Session, purgeId: string): Promise<PurgeReceipt | undefined> {
  const { receipt } = await client(PrivacyService).getPurge({ purgeId }, { signal });
  return receipt;
}

function print({ terminal }: Session, { id, completedAt, parts }: PurgeReceipt): void {
  const { good, waiting } = paletteOf(terminal.color);
  const over = completedAt !== undefined;
  terminal.print(`removal ${id} ${over ? good("is complete") : waiting("goes on")}\n`);
  for (const part of parts) {
    const state = part.done ? good(padded("done", 7)) : waiting(padded("waits", 7));
    terminal.print(`  ${padded(part.service, 12)}  ${state}  ${factsOf(part)}\n`);
  }
  if (!over) terminal.print(`follow it: drover privacy show ${id} --wait\n`);
}

function factsOf({ removed, problem }: PurgePart): string {
  return [`${removed} removed`, ...(problem === "" ? [] : [oneLine(problem)])].join(" · ");
}
