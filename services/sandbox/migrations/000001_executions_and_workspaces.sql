CREATE TABLE execution (
  tenant_id text NOT NULL,
  id uuid NOT NULL,
  call_id uuid NOT NULL,
  body_hash text NOT NULL,
  task_id text NOT NULL,
  language text NOT NULL,
  image text NOT NULL,
  runtime text NOT NULL,
  limits jsonb NOT NULL,
  workspace_id text NOT NULL,
  workspace_version_before bigint NOT NULL,
  accepted_at timestamptz NOT NULL,
  started_at timestamptz,
  ended_at timestamptz,
  -- Name and life of the instance that runs it; nobody else ends it while the lease is good.
  owner text NOT NULL,
  lease_until timestamptz NOT NULL,
  -- Everything known at the end but the output; null while it runs.
  result jsonb,
  stdout_head bytea,
  stdout_tail bytea,
  stderr_head bytea,
  stderr_tail bytea,
  PRIMARY KEY (tenant_id, id),
  UNIQUE (tenant_id, call_id)
);
CREATE INDEX execution_of_task ON execution (tenant_id, task_id, id DESC);
CREATE INDEX execution_running ON execution (lease_until) WHERE result IS NULL;
CREATE INDEX execution_by_id ON execution (id);

-- Cancels of tasks, kept as long as a call that was made before may still arrive.
CREATE TABLE cancelled_task (
  tenant_id text NOT NULL,
  task_id text NOT NULL,
  cancelled_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, task_id)
);

CREATE TABLE workspace (
  tenant_id text NOT NULL,
  id uuid NOT NULL,
  version bigint NOT NULL DEFAULT 0,
  size_bytes bigint NOT NULL DEFAULT 0,
  file_count integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id)
);

-- A content by its SHA-256. Rows that no file names are removed by the retention job.
CREATE TABLE blob (
  tenant_id text NOT NULL,
  sha256 text NOT NULL,
  content bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, sha256)
);

-- One change set; its files are the rows of workspace_file with its version.
CREATE TABLE workspace_version (
  tenant_id text NOT NULL,
  workspace_id uuid NOT NULL,
  version bigint NOT NULL,
  request_id text,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, workspace_id, version),
  FOREIGN KEY (tenant_id, workspace_id) REFERENCES workspace (tenant_id, id) ON DELETE CASCADE
);

-- What a change set says about one path; a null sha256 is a deletion. The newest row of a path counts.
CREATE TABLE workspace_file (
  tenant_id text NOT NULL,
  workspace_id uuid NOT NULL,
  path text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  sha256 text,
  size_bytes bigint NOT NULL,
  executable boolean NOT NULL,
  PRIMARY KEY (tenant_id, workspace_id, path, version),
  FOREIGN KEY (tenant_id, workspace_id, version)
    REFERENCES workspace_version (tenant_id, workspace_id, version) ON DELETE CASCADE,
  FOREIGN KEY (tenant_id, sha256) REFERENCES blob (tenant_id, sha256)
);
CREATE INDEX workspace_file_blob ON workspace_file (tenant_id, sha256);

CREATE TABLE request_id (
  tenant_id text NOT NULL,
  method text NOT NULL,
  request_id text NOT NULL,
  body_hash text NOT NULL,
  response_id text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, method, request_id)
);

ALTER TABLE execution ENABLE ROW LEVEL SECURITY;
ALTER TABLE execution FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON execution
  USING (tenant_id = current_setting('app.tenant', true)) WITH CHECK (tenant_id = current_setting('app.tenant', true));
ALTER TABLE cancelled_task ENABLE ROW LEVEL SECURITY;
ALTER TABLE cancelled_task FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON cancelled_task
  USING (tenant_id = current_setting('app.tenant', true)) WITH CHECK (tenant_id = current_setting('app.tenant', true));
ALTER TABLE workspace ENABLE ROW LEVEL SECURITY;
ALTER TABLE workspace FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON workspace
  USING (tenant_id = current_setting('app.tenant', true)) WITH CHECK (tenant_id = current_setting('app.tenant', true));
ALTER TABLE blob ENABLE ROW LEVEL SECURITY;
ALTER TABLE blob FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON blob
  USING (tenant_id = current_setting('app.tenant', true)) WITH CHECK (tenant_id = current_setting('app.tenant', true));
ALTER TABLE workspace_version ENABLE ROW LEVEL SECURITY;
ALTER TABLE workspace_version FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON workspace_version
  USING (tenant_id = current_setting('app.tenant', true)) WITH CHECK (tenant_id = current_setting('app.tenant', true));
ALTER TABLE workspace_file ENABLE ROW LEVEL SECURITY;
ALTER TABLE workspace_file FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON workspace_file
  USING (tenant_id = current_setting('app.tenant', true)) WITH CHECK (tenant_id = current_setting('app.tenant', true));
ALTER TABLE request_id ENABLE ROW LEVEL SECURITY;
ALTER TABLE request_id FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON request_id
  USING (tenant_id = current_setting('app.tenant', true)) WITH CHECK (tenant_id = current_setting('app.tenant', true));
