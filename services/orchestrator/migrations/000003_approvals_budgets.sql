-- Agents, policies, approvals, budgets, resume, removal.

ALTER TABLE task
  ADD COLUMN agent text NOT NULL DEFAULT '',
  -- The agent as it was when the task was submitted.
  ADD COLUMN agent_body jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN priority smallint NOT NULL DEFAULT 0 CHECK (priority BETWEEN -10 AND 10),
  ADD COLUMN rerun_of uuid,
  -- The workspace came with the submission and was not made for this task alone.
  ADD COLUMN workspace_given boolean NOT NULL DEFAULT false,
  ADD COLUMN resumes integer NOT NULL DEFAULT 0,
  -- Budgets; 0 is none. The one of rounds is max_rounds.
  ADD COLUMN max_wall_ms bigint NOT NULL DEFAULT 0,
  ADD COLUMN max_tokens bigint NOT NULL DEFAULT 0,
  ADD COLUMN max_cost_nano_usd bigint NOT NULL DEFAULT 0,
  ADD COLUMN max_tool_calls integer NOT NULL DEFAULT 0,
  ADD COLUMN max_output_tokens integer NOT NULL DEFAULT 0,
  -- Time during which a worker held the task, up to the last write that told of it.
  ADD COLUMN wall_ms_used bigint NOT NULL DEFAULT 0,
  ADD COLUMN held_since timestamptz,
  ADD COLUMN tool_calls_used integer NOT NULL DEFAULT 0,
  -- Claims since the last commit: a task that kills its workers is not claimed for ever.
  ADD COLUMN idle_claims integer NOT NULL DEFAULT 0,
  ADD COLUMN reworks integer NOT NULL DEFAULT 0,
  ADD COLUMN verification jsonb,
  -- Sequence of the oldest event that is kept.
  ADD COLUMN first_sequence bigint NOT NULL DEFAULT 1;
DROP INDEX task_claimable;
CREATE INDEX task_claimable ON task (tenant_id, priority DESC, next_run_at, id)
  WHERE state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED');
CREATE INDEX task_conversation ON task (tenant_id, conversation_id)
  WHERE state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED');
CREATE INDEX task_held ON task (tenant_id) WHERE lease_owner IS NOT NULL;
CREATE INDEX task_ended ON task (ended_at) WHERE state IN ('SUCCEEDED', 'FAILED', 'CANCELLED');

ALTER TABLE step DROP CONSTRAINT step_kind_check;
ALTER TABLE step ADD CONSTRAINT step_kind_check
  CHECK (kind IN ('prompt', 'turn', 'results', 'nudge', 'verification'));

ALTER TABLE tool_call
  ADD COLUMN arguments_hash text NOT NULL DEFAULT '',
  ADD COLUMN policy_effect text NOT NULL DEFAULT 'allow' CHECK (policy_effect IN ('allow', 'ask', 'deny')),
  ADD COLUMN policy_rule text NOT NULL DEFAULT '',
  ADD COLUMN allowed_commands jsonb NOT NULL DEFAULT '[]',
  ADD COLUMN approval_id uuid,
  ADD COLUMN proposed_at timestamptz NOT NULL DEFAULT now();

CREATE TABLE agent (
  tenant_id text NOT NULL,
  name text NOT NULL,
  body jsonb NOT NULL,
  version bigint NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now(),
  updated_by text NOT NULL,
  PRIMARY KEY (tenant_id, name)
);

CREATE TABLE policy (
  tenant_id text NOT NULL,
  name text NOT NULL,
  priority integer NOT NULL,
  body jsonb NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now(),
  updated_by text NOT NULL,
  PRIMARY KEY (tenant_id, name)
);

CREATE TABLE approval (
  tenant_id text NOT NULL,
  id uuid NOT NULL,
  task_id uuid NOT NULL,
  call_id uuid NOT NULL,
  tool text NOT NULL,
  arguments_preview text NOT NULL,
  arguments_hash text NOT NULL,
  state text NOT NULL CHECK (state IN ('PENDING', 'APPROVED', 'DENIED', 'EXPIRED', 'WITHDRAWN')),
  -- Empty where the outcome of a call is unknown.
  rule text NOT NULL,
  reason text NOT NULL,
  approver_not_requester boolean NOT NULL,
  requested_by text NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  decided_by text NOT NULL DEFAULT '',
  decided_at timestamptz,
  comment text NOT NULL DEFAULT '',
  -- Hash of the approver's arguments; empty where the model's own were approved.
  edited_hash text NOT NULL DEFAULT '',
  sequence bigint NOT NULL,
  PRIMARY KEY (tenant_id, id),
  FOREIGN KEY (tenant_id, task_id) REFERENCES task (tenant_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX approval_pending_call ON approval (tenant_id, call_id) WHERE state = 'PENDING';
CREATE INDEX approval_task ON approval (tenant_id, task_id);
CREATE INDEX approval_due ON approval (expires_at) WHERE state = 'PENDING';

-- Every change of an approval, numbered within its tenant without a gap: the log that watchers read.
CREATE TABLE approval_change (
  tenant_id text NOT NULL,
  sequence bigint NOT NULL,
  approval_id uuid NOT NULL,
  state text NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, sequence),
  FOREIGN KEY (tenant_id, approval_id) REFERENCES approval (tenant_id, id) ON DELETE CASCADE
);
CREATE TABLE approval_sequence (
  tenant_id text PRIMARY KEY,
  last bigint NOT NULL
);

DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['agent', 'policy', 'approval', 'approval_change', 'approval_sequence'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY tenant ON %I USING (tenant_id = current_setting(''app.tenant'', true)) '
      'WITH CHECK (tenant_id = current_setting(''app.tenant'', true))', t);
  END LOOP;
END $$;

-- The table of src/domain/task-state.ts. FAILED and CANCELLED are left by resume_task alone.
CREATE OR REPLACE FUNCTION transition_allowed(p_from text, p_to text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT (p_from, p_to) IN (
    ('CREATED', 'PLANNING'), ('CREATED', 'RUNNING'), ('CREATED', 'FAILED'), ('CREATED', 'CANCELLED'),
    ('PLANNING', 'RUNNING'), ('PLANNING', 'WAITING_APPROVAL'), ('PLANNING', 'FAILED'), ('PLANNING', 'CANCELLED'),
    ('RUNNING', 'WAITING_APPROVAL'), ('RUNNING', 'VERIFYING'), ('RUNNING', 'FAILED'), ('RUNNING', 'CANCELLED'),
    ('WAITING_APPROVAL', 'RUNNING'), ('WAITING_APPROVAL', 'FAILED'), ('WAITING_APPROVAL', 'CANCELLED'),
    ('VERIFYING', 'RUNNING'), ('VERIFYING', 'SUCCEEDED'), ('VERIFYING', 'FAILED'), ('VERIFYING', 'CANCELLED'),
    ('FAILED', 'RUNNING'), ('CANCELLED', 'RUNNING'))
$$;
