import { DroverError } from "@drover/kernel";
import type { Database } from "@drover/postgres";
import { type RawBuilder, sql } from "kysely";
import type { Approval, ApprovalStore, Settled } from "../application/decision-ports.ts";
import type { ApprovalState } from "../domain/approval.ts";
import type { OrchestratorSchema } from "./schema.ts";

/** The job that ends approvals of every tenant. */
export const approvalJobs = ["expire_approvals"] as const;

interface ApprovalRow {
  readonly id: string;
  readonly task_id: string;
  readonly call_id: string;
  readonly tool: string;
  readonly arguments_preview: string;
  readonly arguments_hash: string;
  readonly state: ApprovalState;
  readonly rule: string;
  readonly reason: string;
  readonly requested_by: string;
  readonly requested_at: Date;
  readonly expires_at: Date;
  readonly decided_by: string;
  readonly decided_at: Date | null;
  readonly comment: string;
  readonly edited_hash: string;
  readonly approver_not_requester: boolean;
  readonly sequence: number;
  readonly agent: string;
  readonly conversation_id: string;
  readonly trace_id: string;
}

interface SettledRow {
  readonly tenant_id: string;
  readonly task_id: string;
  readonly last_sequence: number;
  readonly sequence: number;
}

const columns = sql`a.*, k.agent, k.conversation_id, k.trace_id
  FROM approval a JOIN task k ON k.tenant_id = a.tenant_id AND k.id = a.task_id`;

/** Approvals in Postgres; a decision is one call of a function of the schema. */
export function createPostgresApprovalStore(db: Database<OrchestratorSchema>): ApprovalStore {
  const rowsOf = (tenant: string, query: RawBuilder<ApprovalRow>) =>
    db.withTenant(tenant, async (tx) => (await query.execute(tx)).rows);
  return {
    async get(tenant, approvalId) {
      const query = sql<ApprovalRow>`SELECT ${columns} WHERE a.tenant_id = ${tenant} AND a.id = ${approvalId}`;
      const [row] = await rowsOf(tenant, query);
      return row === undefined ? undefined : approvalOf(row);
    },
    async list(tenant, { states, taskId, tool, minAgeMs }, limit, before) {
      const wanted = [
        sql`a.tenant_id = ${tenant}`,
        ...(states.length === 0 ? [] : [sql`a.state IN (${sql.join([...states])})`]),
        ...(taskId === "" ? [] : [sql`a.task_id = ${taskId}`]),
        ...(tool === "" ? [] : [sql`a.tool = ${tool}`]),
        ...(minAgeMs === 0 ? [] : [sql`a.requested_at <= now() - make_interval(secs => ${minAgeMs / 1_000})`]),
        ...(before === undefined ? [] : [sql`a.id < ${before}`]),
      ];
      const query = sql<ApprovalRow>`SELECT ${columns} WHERE ${sql.join(wanted, sql` AND `)}
        ORDER BY a.id DESC LIMIT ${limit}`;
      return (await rowsOf(tenant, query)).map(approvalOf);
    },
    async changes(tenant, after, limit) {
      const query = sql<ApprovalRow & { readonly change_state: ApprovalState; readonly change_sequence: number }>`
        SELECT c.state AS change_state, c.sequence AS change_sequence, ${columns}
          JOIN approval_change c ON c.tenant_id = a.tenant_id AND c.approval_id = a.id
          WHERE c.tenant_id = ${tenant} AND c.sequence > ${after} ORDER BY c.sequence LIMIT ${limit}`;
      const rows = await db.withTenant(tenant, async (tx) => (await query.execute(tx)).rows);
      return rows.map((row) => asOf(approvalOf(row), row.change_state, row.change_sequence));
    },
    newest: (tenant) =>
      db.withTenant(tenant, async (tx) => {
        const query = sql<{ last: number }>`SELECT last FROM approval_sequence WHERE tenant_id = ${tenant}`;
        return (await query.execute(tx)).rows[0]?.last ?? 0;
      }),
    async decide(tenant, { approvalId, state, argumentsHash, actor, comment, edited }) {
      type Outcome = Awaited<ReturnType<ApprovalStore["decide"]>>["outcome"];
      const change = [edited?.arguments ?? "", edited?.hash ?? "", edited?.preview ?? ""];
      const parameters = [tenant, approvalId, state, argumentsHash, actor, comment, ...change];
      const [row] = await db.callAsService<SettledRow & { outcome: Outcome }>("decide_approval", parameters);
      if (row === undefined) throw new DroverError("INTERNAL", "The database gave no answer.");
      return { outcome: row.outcome, settled: settledOf({ ...row, tenant_id: tenant }) };
    },
    expire: () =>
      db.withSystem("expire_approvals", async (tx) => {
        // One replica at a time: two that end approvals of several tenants at once could wait for each other.
        const lock = sql<{ free: boolean }>`SELECT pg_try_advisory_xact_lock(hashtextextended('expire', 0)) AS free`;
        if (!(await lock.execute(tx)).rows[0]?.free) return [];
        return (await sql<SettledRow>`SELECT * FROM expire_approvals()`.execute(tx)).rows.map(settledOf);
      }),
  };
}

function settledOf(row: SettledRow): Settled {
  return { tenant: row.tenant_id, taskId: row.task_id, lastSequence: row.last_sequence, sequence: row.sequence };
}

/** An approval as it was after one of its changes. */
function asOf(approval: Approval, state: ApprovalState, sequence: number): Approval {
  if (state !== "PENDING") return { ...approval, state, sequence };
  return { ...approval, state, sequence, decidedBy: "", decidedAt: undefined, comment: "", editedHash: "" };
}

function approvalOf(row: ApprovalRow): Approval {
  return {
    id: row.id,
    taskId: row.task_id,
    callId: row.call_id,
    tool: row.tool,
    argumentsPreview: row.arguments_preview,
    argumentsHash: row.arguments_hash,
    state: row.state,
    rule: row.rule,
    reason: row.reason,
    requestedBy: row.requested_by,
    requestedAt: row.requested_at,
    expiresAt: row.expires_at,
    decidedBy: row.decided_by,
    decidedAt: row.decided_at ?? undefined,
    comment: row.comment,
    editedHash: row.edited_hash,
    approverNotRequester: row.approver_not_requester,
    sequence: row.sequence,
    agent: row.agent,
    conversationId: row.conversation_id,
    traceId: row.trace_id,
  };
}
