import type { ColumnType, Generated } from "kysely";

interface ExecutionTable {
  tenant_id: string;
  id: string;
  call_id: string;
  body_hash: string;
  task_id: string;
  language: string;
  image: string;
  runtime: string;
  limits: ColumnType<unknown, string, string>;
  workspace_id: string;
  workspace_version_before: number;
  accepted_at: Date;
  started_at: Date | null;
  ended_at: Date | null;
  owner: string;
  lease_until: ColumnType<Date, unknown, unknown>;
  container_id: ColumnType<string | null, never, string>;
  result: ColumnType<unknown, string | null, string | null>;
  stdout_head: Uint8Array | null;
  stdout_tail: Uint8Array | null;
  stderr_head: Uint8Array | null;
  stderr_tail: Uint8Array | null;
  compile_output: ColumnType<unknown, string | null, string | null>;
}

interface CancelledTaskTable {
  tenant_id: string;
  task_id: string;
  cancelled_at: Date;
}

interface WorkspaceTable {
  tenant_id: string;
  id: string;
  version: Generated<number>;
  size_bytes: Generated<number>;
  file_count: Generated<number>;
  created_at: Generated<Date>;
}

interface BlobTable {
  tenant_id: string;
  sha256: string;
  content: Uint8Array;
  created_at: Generated<Date>;
}

interface WorkspaceVersionTable {
  tenant_id: string;
  workspace_id: string;
  version: number;
  request_id: string | null;
  created_at: Generated<Date>;
}

interface WorkspaceFileTable {
  tenant_id: string;
  workspace_id: string;
  path: string;
  version: number;
  sha256: string | null;
  size_bytes: number;
  executable: boolean;
}

interface RequestIdTable {
  tenant_id: string;
  method: string;
  request_id: string;
  body_hash: string;
  response_id: string;
  created_at: Generated<Date>;
}

/** The tables of the schema `sandbox`; see migrations/. */
export interface SandboxSchema {
  execution: ExecutionTable;
  cancelled_task: CancelledTaskTable;
  workspace: WorkspaceTable;
  blob: BlobTable;
  workspace_version: WorkspaceVersionTable;
  workspace_file: WorkspaceFileTable;
  request_id: RequestIdTable;
}
