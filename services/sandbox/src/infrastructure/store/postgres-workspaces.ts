import { DroverError, notFound } from "@drover/kernel";
import type { Database } from "@drover/postgres";
import { sql, type Transaction } from "kysely";
import type { Commit, CommitOptions, SessionFence, Workspace, WorkspaceStore } from "../../application/ports.ts";
import {
  type Change,
  type FileEntry,
  type Manifest,
  mergeChanges,
  pathOf,
  sizeAfter,
} from "../../domain/change-set.ts";
import { byteSize, counted } from "../../domain/quantities.ts";
import { sha256 } from "../sha256.ts";
import { requireEpoch } from "./postgres-owner-rows.ts";
import type { SandboxSchema } from "./schema.ts";
import { requireRunning, runOver, writeEnd } from "./write-end.ts";

type Tx = Transaction<SandboxSchema>;

const bytesAtOnce = 8 * 1024 ** 2;
const filesAtOnce = 200;

/** Workspaces in Postgres: change sets as rows, contents by hash. */
export class PostgresWorkspaces implements WorkspaceStore {
  readonly #db: Database<SandboxSchema>;

  constructor(db: Database<SandboxSchema>) {
    this.#db = db;
  }

  async create(tenant: string, id: string, requestId: string, bodyHash: string): Promise<Workspace> {
    return await this.#db.withTenant(tenant, async (tx) => {
      const known = await claimRequest(tx, tenant, "CreateWorkspace", requestId, bodyHash, id);
      if (known !== undefined) return workspaceOf(await lockedRow(tx, tenant, known));
      const row = await tx
        .insertInto("workspace")
        .values({ tenant_id: tenant, id })
        .returningAll()
        .executeTakeFirstOrThrow();
      return workspaceOf(row);
    });
  }

  async read(tenant: string, id: string): Promise<{ readonly workspace: Workspace; readonly files: Manifest }> {
    return await this.#db.withTenant(tenant, async (tx) => {
      // One snapshot for both: the files are those of the version that is reported.
      const row = await findRow(tx, tenant, id);
      return { workspace: workspaceOf(row), files: await manifest(tx, tenant, id, row.version) };
    });
  }

  async *contents(
    tenant: string,
    files: readonly FileEntry[],
  ): AsyncGenerator<{ file: FileEntry; content: Uint8Array }, void, undefined> {
    for (const batch of batches(files)) {
      const hashes = [...new Set(batch.map(({ sha256 }) => sha256))];
      const rows = await this.#db.withTenant(tenant, (tx) =>
        tx
          .selectFrom("blob")
          .select(["sha256", "content"])
          .where("tenant_id", "=", tenant)
          .where("sha256", "in", hashes)
          .execute(),
      );
      const byHash = new Map(rows.map(({ sha256, content }) => [sha256, content]));
      for (const file of batch) {
        const content = byHash.get(file.sha256);
        if (content === undefined) throw new DroverError("INTERNAL", `The content of ${file.path} is missing.`);
        yield { file, content };
      }
    }
  }

  async keep(tenant: string, content: Uint8Array): Promise<string> {
    const hash = sha256(content);
    await this.#db.withTenant(tenant, async (tx) => {
      // Touching the row keeps the retention job off it until the change set names it.
      await tx
        .insertInto("blob")
        .values({ tenant_id: tenant, sha256: hash, content: Buffer.from(content) })
        .onConflict((conflict) => conflict.columns(["tenant_id", "sha256"]).doUpdateSet({ created_at: sql`now()` }))
        .execute();
    });
    return hash;
  }

  async commit(tenant: string, id: string, changes: readonly Change[], options: CommitOptions): Promise<Commit> {
    return await this.#db.withTenant(tenant, async (tx) => {
      const row = await lockedRow(tx, tenant, id);
      const known = await claimRequest(tx, tenant, `PutFiles/${id}`, options.requestId, options.bodyHash, id);
      if (known !== undefined) return { workspace: workspaceOf(row), outcomes: [], repeated: true };
      if (options.under !== undefined) await requireSession(tx, tenant, options.under);
      if (options.exact && row.version !== options.since) {
        const message = `The workspace has version ${row.version}, not ${options.since}; read it and try again.`;
        throw new DroverError("ABORTED", message, { reason: "WORKSPACE_VERSION" });
      }
      const current = await manifest(tx, tenant, id, row.version);
      const touched = await pathsSince(tx, tenant, id, options);
      const { apply, outcomes } = mergeChanges(changes, current, touched);
      const workspace = await this.#write(tx, tenant, row, apply, current, options);
      const commit = { workspace, outcomes, repeated: false };
      if (options.ends !== undefined && !(await writeEnd(tx, options.ends(commit)))) throw runOver();
      return commit;
    });
  }

  async #write(
    tx: Tx,
    tenant: string,
    row: WorkspaceRow,
    apply: readonly Change[],
    current: Manifest,
    options: CommitOptions,
  ): Promise<Workspace> {
    if (apply.length === 0) return workspaceOf(row);
    const size = sizeAfter(current, apply);
    checkLimits(size, options);
    return await writeVersion(tx, tenant, row, apply, size, options.requestId);
  }

  async delete(tenant: string, id: string): Promise<void> {
    await this.#db.withTenant(tenant, async (tx) => {
      await tx.deleteFrom("workspace").where("tenant_id", "=", tenant).where("id", "=", id).execute();
    });
  }
}

/** Keeps a session, and this instance's hold of it, until the transaction ends; ABORTED (reason RUN_OVER) where it is over. */
async function requireSession(tx: Tx, tenant: string, { id, taskId, epoch }: SessionFence): Promise<void> {
  await requireEpoch(tx, tenant, taskId, epoch);
  await requireRunning(tx, tenant, id);
}

interface WorkspaceRow {
  readonly id: string;
  readonly version: number;
  readonly size_bytes: number;
  readonly file_count: number;
  readonly created_at: Date;
}

function workspaceOf(row: WorkspaceRow): Workspace {
  return {
    id: row.id,
    version: row.version,
    sizeBytes: row.size_bytes,
    fileCount: row.file_count,
    createdAt: row.created_at,
  };
}

async function findRow(tx: Tx, tenant: string, id: string): Promise<WorkspaceRow> {
  const row = await tx
    .selectFrom("workspace")
    .selectAll()
    .where("tenant_id", "=", tenant)
    .where("id", "=", id)
    .executeTakeFirst();
  if (row === undefined) throw notFound("workspace", id);
  return row;
}

async function lockedRow(tx: Tx, tenant: string, id: string): Promise<WorkspaceRow> {
  const row = await tx
    .selectFrom("workspace")
    .selectAll()
    .where("tenant_id", "=", tenant)
    .where("id", "=", id)
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined) throw notFound("workspace", id);
  return row;
}

/** The files of a version: of each path its newest row up to it, unless that is a deletion. */
async function manifest(tx: Tx, tenant: string, id: string, version: number): Promise<Manifest> {
  const rows = await tx
    .selectFrom("workspace_file")
    .select(["path", "sha256", "size_bytes", "executable"])
    .distinctOn("path")
    .where("tenant_id", "=", tenant)
    .where("workspace_id", "=", id)
    .where("version", "<=", version)
    .orderBy("path")
    .orderBy("version", "desc")
    .execute();
  const files = rows.flatMap(({ path, sha256, size_bytes, executable }) =>
    sha256 === null ? [] : [[path, { path, sha256, size: size_bytes, executable }] as const],
  );
  return new Map(files);
}

async function pathsSince(
  tx: Tx,
  tenant: string,
  id: string,
  { since, seen }: CommitOptions,
): Promise<ReadonlySet<string>> {
  const rows = await tx
    .selectFrom("workspace_file")
    .select(["path", "version"])
    .where("tenant_id", "=", tenant)
    .where("workspace_id", "=", id)
    .where("version", ">", since)
    .execute();
  return new Set(rows.filter(({ path, version }) => version > (seen?.get(path) ?? since)).map(({ path }) => path));
}

async function writeVersion(
  tx: Tx,
  tenant: string,
  row: WorkspaceRow,
  apply: readonly Change[],
  size: { readonly files: number; readonly bytes: number },
  requestId: string,
): Promise<Workspace> {
  const version = row.version + 1;
  await tx
    .insertInto("workspace_version")
    .values({ tenant_id: tenant, workspace_id: row.id, version, request_id: requestId === "" ? null : requestId })
    .execute();
  for (let at = 0; at < apply.length; at += filesAtOnce) {
    const values = apply.slice(at, at + filesAtOnce).map((change) => ({
      tenant_id: tenant,
      workspace_id: row.id,
      path: pathOf(change),
      version,
      sha256: change.kind === "put" ? change.file.sha256 : null,
      size_bytes: change.kind === "put" ? change.file.size : 0,
      executable: change.kind === "put" && change.file.executable,
    }));
    await tx.insertInto("workspace_file").values(values).execute();
  }
  const updated = await tx
    .updateTable("workspace")
    .set({ version, size_bytes: size.bytes, file_count: size.files })
    .where("tenant_id", "=", tenant)
    .where("id", "=", row.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  return workspaceOf(updated);
}

function checkLimits(size: { readonly files: number; readonly bytes: number }, { limits }: CommitOptions): void {
  if (size.files <= limits.maxFiles && size.bytes <= limits.maxBytes) return;
  const message = `The workspace would hold ${counted(size.files, "file")} and ${byteSize(size.bytes)}; allowed are ${limits.maxFiles} files and ${byteSize(limits.maxBytes)}.`;
  throw new DroverError("RESOURCE_EXHAUSTED", message, { reason: "WORKSPACE_FULL", retryable: false });
}

/** The id that the same request was answered with before, or undefined where it is new. ALREADY_EXISTS for another body. */
async function claimRequest(
  tx: Tx,
  tenant: string,
  method: string,
  requestId: string,
  bodyHash: string,
  responseId: string,
): Promise<string | undefined> {
  if (requestId === "") return undefined;
  const inserted = await tx
    .insertInto("request_id")
    .values({ tenant_id: tenant, method, request_id: requestId, body_hash: bodyHash, response_id: responseId })
    .onConflict((conflict) => conflict.columns(["tenant_id", "method", "request_id"]).doNothing())
    .returning("response_id")
    .executeTakeFirst();
  if (inserted !== undefined) return undefined;
  const row = await tx
    .selectFrom("request_id")
    .select(["body_hash", "response_id"])
    .where("tenant_id", "=", tenant)
    .where("method", "=", method)
    .where("request_id", "=", requestId)
    .executeTakeFirstOrThrow();
  if (row.body_hash !== bodyHash) {
    throw new DroverError("ALREADY_EXISTS", "request_id was used with another body already.", {
      reason: "REQUEST_ID_REUSED",
    });
  }
  return row.response_id;
}

function* batches(files: readonly FileEntry[]): Generator<FileEntry[], void, undefined> {
  let batch: FileEntry[] = [];
  let bytes = 0;
  for (const file of files) {
    if (batch.length > 0 && (bytes + file.size > bytesAtOnce || batch.length >= filesAtOnce)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(file);
    bytes += file.size;
  }
  if (batch.length > 0) yield batch;
}
