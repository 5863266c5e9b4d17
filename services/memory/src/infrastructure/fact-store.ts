import { newId, sha256 } from "@drover/kernel";
import type { Database } from "@drover/postgres";
import { redact } from "@drover/redaction";
import { sql } from "kysely";
import type { ExtractionResult, ExtractionTask, FactStore } from "../application/fact-ports.ts";
import type { Owner } from "../application/ports.ts";
import { type Fact, type FactPlace, sameWords } from "../domain/fact.ts";
import { type FactCounts, type FactRules, type NewFact, planFacts } from "../domain/fact-plan.ts";
import { findConversation, type MemoryTransaction } from "./conversation-row.ts";
import { extractionOf, insertExtraction, recordAfter } from "./extraction-row.ts";
import { factColumns, factOfRow } from "./fact-row.ts";
import { messageOfRow } from "./message-row.ts";
import type { MemorySchema } from "./schema.ts";

/** Facts of a person that a question shows, and messages of a task that are looked at. */
const shownFacts = 100;
const sourceMessages = 200;

/** Bounds of what is kept. */
export interface FactLimits {
  readonly perPlace: number;
  readonly importanceFloor: number;
}

/** Facts in Postgres. */
export function createFactStore(database: Database<MemorySchema>, limits: FactLimits): FactStore {
  return {
    source: (owner, task, signal) =>
      database.withTenant(
        owner.tenant,
        async (tx) => {
          await findConversation(tx, owner, task.conversationId);
          const before = await extractionOf(tx, owner, task);
          const messages = await newest(tx, owner, task, before?.throughSequence ?? 0);
          const throughSequence = messages.at(-1)?.sequence ?? before?.throughSequence ?? 0;
          return { messages, throughSequence, before, known: await held(tx, owner, task.agent, shownFacts) };
        },
        signal,
      ),
    keep: (owner, task, result, signal) =>
      database.withTenant(owner.tenant, (tx) => keep(tx, owner, { task, result, limits }), signal),
    list: (owner, filter, { after, limit }, signal) =>
      database.withTenant(
        owner.tenant,
        async (tx) => {
          let query = tx
            .selectFrom("fact")
            .select(factColumns)
            .where("tenant_id", "=", owner.tenant)
            .where((where) => where.or([where("subject", "=", owner.subject), where("scope", "=", "tenant")]));
          if (filter.scope !== undefined) query = query.where("scope", "=", filter.scope);
          if (filter.agent !== "") {
            query = query.where((where) =>
              where.or([where("agent", "=", filter.agent), where("scope", "<>", "agent")]),
            );
          }
          if (!filter.includeEnded) query = query.where("valid_to", "is", null);
          if (after !== undefined) query = query.where("fact_id", "<", after);
          return (await query.orderBy("fact_id", "desc").limit(limit).execute()).map(factOfRow);
        },
        signal,
      ),
    forget: (owner, factId, signal) => database.withTenant(owner.tenant, (tx) => forget(tx, owner, factId), signal),
  };
}

async function newest(tx: MemoryTransaction, owner: Owner, task: ExtractionTask, after: number) {
  const rows = await tx
    .selectFrom("message")
    .selectAll()
    .where("tenant_id", "=", owner.tenant)
    .where("conversation_id", "=", task.conversationId)
    .where("task_id", "=", task.taskId)
    .where("sequence", ">", after)
    .where((where) => where.or([where("role", "=", "assistant"), where("pinned", "=", true)]))
    .orderBy("pinned", "desc")
    .orderBy("sequence", "desc")
    .limit(sourceMessages)
    .execute();
  return rows.map(messageOfRow).sort((a, b) => a.sequence - b.sequence);
}

async function held(tx: MemoryTransaction, owner: Owner, agent: string, limit?: number): Promise<Fact[]> {
  let query = tx
    .selectFrom("fact")
    .select(factColumns)
    .where("tenant_id", "=", owner.tenant)
    .where("subject", "=", owner.subject)
    .where("agent", "in", ["", agent])
    .where("valid_to", "is", null)
    .orderBy("importance", "desc")
    .orderBy("fact_id", "desc");
  if (limit !== undefined) query = query.limit(limit);
  return (await query.execute()).map(factOfRow);
}

interface Keeping {
  readonly task: ExtractionTask;
  readonly result: ExtractionResult;
  readonly limits: FactLimits;
}

async function keep(tx: MemoryTransaction, owner: Owner, { task, result, limits }: Keeping) {
  // One at a time for a person, so that caps hold and the same words are not written twice.
  await lockFacts(tx, owner);
  await findConversation(tx, owner, task.conversationId);
  const before = await extractionOf(tx, owner, task);
  // Somebody else was faster: what this answer cost is told beside theirs.
  if (before !== undefined && before.throughSequence >= result.throughSequence) {
    return await recordAfter(tx, owner, { task, throughSequence: before.throughSequence, usage: result.usage });
  }
  const counts = "fault" in result.answer ? noCounts : await change(tx, owner, { task, result, limits });
  await insertExtraction(tx, owner, task, result, counts);
  const record = await extractionOf(tx, owner, task);
  if (record === undefined) throw new Error("The extraction that was just written is not there.");
  return record;
}

const noCounts: FactCounts = { added: 0, updated: 0, ended: 0, unchanged: 0, refused: 0 };

async function change(tx: MemoryTransaction, owner: Owner, { task, result, limits }: Keeping): Promise<FactCounts> {
  if ("fault" in result.answer) return noCounts;
  const holding = await held(tx, owner, task.agent);
  const ids = new Set(holding.map(({ id }) => id));
  // What was shown and does not hold any more is not changed.
  const known = result.known.map((fact) => (ids.has(fact.id) ? fact : undefined));
  const gone = await forgotten(tx, owner);
  const rules: FactRules = {
    subject: owner.subject,
    agent: task.agent,
    most: limits.perPlace,
    floor: limits.importanceFloor,
    secret: (text) => redact(text).count > 0,
    forgotten: (place, text) => gone.has(graveKey(place, hashOf(text))),
  };
  const plan = planFacts(result.answer.changes, known, holding, rules);
  if (plan.end.length > 0) {
    await tx
      .updateTable("fact")
      .set({ valid_to: sql<Date>`now()` })
      .where("tenant_id", "=", owner.tenant)
      .where(
        "fact_id",
        "in",
        plan.end.map(({ id }) => id),
      )
      .execute();
  }
  for (const fact of plan.write) await write(tx, owner, task, fact);
  return plan.counts;
}

async function write(tx: MemoryTransaction, owner: Owner, task: ExtractionTask, fact: NewFact): Promise<void> {
  const id = newId();
  const { scope, subject, agent, text, importance, messageSequence, replaces } = fact;
  await tx
    .insertInto("fact")
    .values({
      ...{ tenant_id: owner.tenant, scope, subject, agent, importance },
      fact_id: id,
      line_id: replaces?.lineId ?? id,
      body: text,
      body_hash: hashOf(text),
      conversation_id: task.conversationId,
      task_id: task.taskId,
      message_sequence: messageSequence,
    })
    .execute();
  if (replaces === undefined) return;
  await tx
    .updateTable("fact")
    .set({ superseded_by: id })
    .where("tenant_id", "=", owner.tenant)
    .where("fact_id", "=", replaces.id)
    .execute();
}

async function forget(tx: MemoryTransaction, owner: Owner, factId: string): Promise<number> {
  await lockFacts(tx, owner);
  const named = await tx
    .selectFrom("fact")
    .select("line_id")
    .where("tenant_id", "=", owner.tenant)
    .where("fact_id", "=", factId)
    .where("subject", "=", owner.subject)
    .executeTakeFirst();
  if (named === undefined) return 0;
  const gone = await tx
    .deleteFrom("fact")
    .where("tenant_id", "=", owner.tenant)
    .where("line_id", "=", named.line_id)
    .returning(["tenant_id", "scope", "subject", "agent", "body_hash"])
    .execute();
  await tx
    .insertInto("fact_tombstone")
    .values(gone)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return gone.length;
}

async function forgotten(tx: MemoryTransaction, owner: Owner): Promise<ReadonlySet<string>> {
  const rows = await tx
    .selectFrom("fact_tombstone")
    .select(["scope", "agent", "body_hash"])
    .where("tenant_id", "=", owner.tenant)
    .where("subject", "=", owner.subject)
    .execute();
  return new Set(rows.map((row) => graveKey(row, row.body_hash)));
}

function graveKey({ scope, agent }: Pick<FactPlace, "scope" | "agent">, hash: string): string {
  return `${scope}/${agent}/${hash}`;
}

function hashOf(text: string): string {
  return sha256(sameWords(text));
}

async function lockFacts(tx: MemoryTransaction, { tenant, subject }: Owner): Promise<void> {
  const name = `facts ${JSON.stringify([tenant, subject])}`;
  await sql`SELECT pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(tx);
}
