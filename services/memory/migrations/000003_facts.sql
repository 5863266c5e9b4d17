-- Long-term memory: facts, what was forgotten, and what was looked at for facts.

-- One version of a fact. A change closes a version and writes the next one of the same line.
CREATE TABLE fact (
  tenant_id text NOT NULL,
  scope text NOT NULL CHECK (scope IN ('tenant', 'user', 'agent')),
  subject text NOT NULL,
  agent text NOT NULL,
  fact_id uuid NOT NULL,
  -- The id of its first version.
  line_id uuid NOT NULL,
  body text NOT NULL CHECK (char_length(body) BETWEEN 1 AND 500),
  -- Of the words without case and spacing: the same statement is one fact.
  body_hash text NOT NULL,
  importance smallint NOT NULL CHECK (importance BETWEEN 0 AND 100),
  conversation_id text NOT NULL,
  task_id text NOT NULL,
  message_sequence bigint NOT NULL,
  valid_from timestamptz NOT NULL DEFAULT now(),
  valid_to timestamptz,
  superseded_by uuid,
  PRIMARY KEY (tenant_id, scope, subject, agent, fact_id),
  FOREIGN KEY (tenant_id, conversation_id, message_sequence)
    REFERENCES message (tenant_id, conversation_id, sequence) ON DELETE CASCADE,
  CHECK ((scope = 'tenant') = (subject = '')),
  CHECK ((scope = 'agent') = (agent <> ''))
);
CREATE UNIQUE INDEX fact_by_id ON fact (tenant_id, fact_id);
CREATE UNIQUE INDEX fact_holds ON fact (tenant_id, scope, subject, agent, body_hash) WHERE valid_to IS NULL;
CREATE INDEX fact_line ON fact (tenant_id, line_id);
CREATE INDEX fact_source ON fact (tenant_id, conversation_id, message_sequence);

-- A statement that its person has forgotten, so that it does not come back; the words themselves are gone.
CREATE TABLE fact_tombstone (
  tenant_id text NOT NULL,
  scope text NOT NULL,
  subject text NOT NULL,
  agent text NOT NULL,
  body_hash text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, scope, subject, agent, body_hash)
);

-- What was looked at, up to which message of the task, and what it came to.
CREATE TABLE extraction (
  tenant_id text NOT NULL,
  conversation_id text NOT NULL,
  task_id text NOT NULL,
  through_sequence bigint NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('extracted', 'malformed')),
  -- The extractor's own, so that a better one can be told to look again.
  extractor_version integer NOT NULL,
  model text NOT NULL,
  fault text NOT NULL,
  added integer NOT NULL,
  updated integer NOT NULL,
  ended integer NOT NULL,
  unchanged integer NOT NULL,
  refused integer NOT NULL,
  input_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  cached_input_tokens bigint NOT NULL,
  reasoning_tokens bigint NOT NULL,
  -- NULL where the model has no known price.
  cost_nano_usd bigint,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, conversation_id, task_id, through_sequence),
  FOREIGN KEY (tenant_id, conversation_id) REFERENCES conversation ON DELETE CASCADE
);

CREATE INDEX message_task ON message (tenant_id, conversation_id, task_id, sequence);

ALTER TABLE fact ENABLE ROW LEVEL SECURITY;
ALTER TABLE fact FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON fact USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));
ALTER TABLE fact_tombstone ENABLE ROW LEVEL SECURITY;
ALTER TABLE fact_tombstone FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON fact_tombstone USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));
ALTER TABLE extraction ENABLE ROW LEVEL SECURITY;
ALTER TABLE extraction FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON extraction USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));
