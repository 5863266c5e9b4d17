-- Tasks and their append-only logs: transitions, steps, tool calls, events.

CREATE TABLE task (
  tenant_id text NOT NULL,
  id uuid NOT NULL,
  state text NOT NULL CHECK (state IN ('CREATED', 'PLANNING', 'RUNNING', 'WAITING_APPROVAL', 'VERIFYING',
                                       'SUCCEEDED', 'FAILED', 'CANCELLED')),
  mode text NOT NULL CHECK (mode IN ('CHAT', 'RAG', 'REACT', 'PSE')),
  prompt text NOT NULL,
  model text NOT NULL,
  collection text NOT NULL,
  conversation_id uuid NOT NULL,
  workspace_id uuid,
  trace_id text NOT NULL,
  created_by text NOT NULL,
  round integer NOT NULL DEFAULT 0,
  max_rounds integer NOT NULL,
  version bigint NOT NULL DEFAULT 0,
  last_sequence bigint NOT NULL DEFAULT 0,
  answer text NOT NULL DEFAULT '',
  failure_reason text NOT NULL DEFAULT '',
  failure_message text NOT NULL DEFAULT '',
  cancel_requested_at timestamptz,
  cancel_actor text NOT NULL DEFAULT '',
  cancel_reason text NOT NULL DEFAULT '',
  input_tokens bigint NOT NULL DEFAULT 0,
  output_tokens bigint NOT NULL DEFAULT 0,
  cached_input_tokens bigint NOT NULL DEFAULT 0,
  reasoning_tokens bigint NOT NULL DEFAULT 0,
  -- NULL as soon as one call was answered by a model without a known price.
  cost_nano_usd bigint DEFAULT 0,
  attempt integer NOT NULL DEFAULT 0,
  -- Grows at every claim; every write of a worker names the one it was given.
  lease_epoch bigint NOT NULL DEFAULT 0,
  lease_owner text,
  lease_until timestamptz,
  next_run_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  ended_at timestamptz,
  PRIMARY KEY (tenant_id, id)
);
CREATE INDEX task_claimable ON task (next_run_at, id) WHERE state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED');

CREATE TABLE transition (
  tenant_id text NOT NULL,
  task_id uuid NOT NULL,
  version bigint NOT NULL,
  from_state text NOT NULL,
  to_state text NOT NULL,
  actor text NOT NULL,
  reason text NOT NULL,
  -- What brought it about, e.g. 'submitted' or 'model_answered', and the sequence of the event that tells of it.
  input_event text NOT NULL,
  output_event bigint NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, task_id, version),
  FOREIGN KEY (tenant_id, task_id) REFERENCES task (tenant_id, id) ON DELETE CASCADE
);

CREATE TABLE step (
  tenant_id text NOT NULL,
  task_id uuid NOT NULL,
  seq bigint NOT NULL,
  round integer NOT NULL,
  kind text NOT NULL CHECK (kind IN ('prompt', 'turn', 'results', 'nudge')),
  body jsonb NOT NULL,
  epoch bigint NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, task_id, seq),
  FOREIGN KEY (tenant_id, task_id) REFERENCES task (tenant_id, id) ON DELETE CASCADE
);

CREATE TABLE tool_call (
  tenant_id text NOT NULL,
  task_id uuid NOT NULL,
  call_id uuid NOT NULL,
  step_seq bigint NOT NULL,
  ordinal integer NOT NULL,
  provider_call_id text NOT NULL,
  tool text NOT NULL,
  -- Exact, because a call may have to be sent again; shown nowhere. The preview is redacted.
  arguments text NOT NULL,
  arguments_preview text NOT NULL,
  state text NOT NULL CHECK (state IN ('PROPOSED', 'AWAITING', 'APPROVED', 'DISPATCHED', 'SUCCEEDED', 'FAILED',
                                       'UNKNOWN', 'DENIED', 'CANCELLED')),
  epoch bigint NOT NULL,
  dispatched_at timestamptz,
  ended_at timestamptz,
  -- What the model is shown, and the facts about the whole result.
  shown text NOT NULL DEFAULT '',
  summary text NOT NULL DEFAULT '',
  error_code text NOT NULL DEFAULT '',
  retryable boolean NOT NULL DEFAULT false,
  artifacts jsonb NOT NULL DEFAULT '[]',
  result_characters bigint NOT NULL DEFAULT 0,
  shown_characters bigint NOT NULL DEFAULT 0,
  spill_pointer text NOT NULL DEFAULT '',
  duration_ms bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, call_id),
  UNIQUE (tenant_id, task_id, step_seq, ordinal),
  FOREIGN KEY (tenant_id, task_id) REFERENCES task (tenant_id, id) ON DELETE CASCADE
);

-- The log that watchers read.
CREATE TABLE event (
  tenant_id text NOT NULL,
  task_id uuid NOT NULL,
  sequence bigint NOT NULL,
  round integer NOT NULL,
  body jsonb NOT NULL,
  at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, task_id, sequence),
  FOREIGN KEY (tenant_id, task_id) REFERENCES task (tenant_id, id) ON DELETE CASCADE
);

CREATE TABLE request_id (
  tenant_id text NOT NULL,
  method text NOT NULL,
  request_id text NOT NULL,
  body_hash text NOT NULL,
  response_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, method, request_id)
);

ALTER TABLE task ENABLE ROW LEVEL SECURITY;
ALTER TABLE task FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON task USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));
ALTER TABLE transition ENABLE ROW LEVEL SECURITY;
ALTER TABLE transition FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON transition USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));
ALTER TABLE step ENABLE ROW LEVEL SECURITY;
ALTER TABLE step FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON step USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));
ALTER TABLE tool_call ENABLE ROW LEVEL SECURITY;
ALTER TABLE tool_call FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON tool_call USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));
ALTER TABLE event ENABLE ROW LEVEL SECURITY;
ALTER TABLE event FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON event USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));
ALTER TABLE request_id ENABLE ROW LEVEL SECURITY;
ALTER TABLE request_id FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON request_id USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));

-- The table of src/domain/task-state.ts; a test holds the two together.
CREATE FUNCTION transition_allowed(p_from text, p_to text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT (p_from, p_to) IN (
    ('CREATED', 'PLANNING'), ('CREATED', 'RUNNING'), ('CREATED', 'FAILED'), ('CREATED', 'CANCELLED'),
    ('PLANNING', 'RUNNING'), ('PLANNING', 'WAITING_APPROVAL'), ('PLANNING', 'FAILED'), ('PLANNING', 'CANCELLED'),
    ('RUNNING', 'WAITING_APPROVAL'), ('RUNNING', 'VERIFYING'), ('RUNNING', 'FAILED'), ('RUNNING', 'CANCELLED'),
    ('WAITING_APPROVAL', 'RUNNING'), ('WAITING_APPROVAL', 'FAILED'), ('WAITING_APPROVAL', 'CANCELLED'),
    ('VERIFYING', 'RUNNING'), ('VERIFYING', 'SUCCEEDED'), ('VERIFYING', 'FAILED'), ('VERIFYING', 'CANCELLED'))
$$;

CREATE FUNCTION guard_task_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.state <> OLD.state AND NOT transition_allowed(OLD.state, NEW.state) THEN
    RAISE EXCEPTION 'A task cannot go from % to %.', OLD.state, NEW.state USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER guard_state BEFORE UPDATE OF state ON task FOR EACH ROW EXECUTE FUNCTION guard_task_state();
