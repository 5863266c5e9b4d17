-- Conversations, their messages, and where the whole text of a large tool result is.

CREATE TABLE conversation (
  tenant_id text NOT NULL,
  conversation_id text NOT NULL,
  -- Who began it. Nobody else of the tenant can see it.
  subject text NOT NULL,
  last_sequence bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, conversation_id)
);

CREATE TABLE message (
  tenant_id text NOT NULL,
  conversation_id text NOT NULL,
  sequence bigint NOT NULL CHECK (sequence > 0),
  message_id uuid NOT NULL,
  role text NOT NULL CHECK (role IN ('system', 'user', 'assistant', 'tool')),
  body text NOT NULL,
  tool_calls jsonb NOT NULL,
  tool_call_id text NOT NULL,
  spill_pointer text NOT NULL,
  full_characters bigint NOT NULL,
  client_message_id text NOT NULL,
  pinned boolean NOT NULL,
  task_id text NOT NULL,
  tokens integer NOT NULL CHECK (tokens >= 0),
  -- Of what the caller sent, before anything was cut.
  content_hash text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, conversation_id, sequence),
  FOREIGN KEY (tenant_id, conversation_id) REFERENCES conversation ON DELETE CASCADE
);
CREATE UNIQUE INDEX message_client_id ON message (tenant_id, conversation_id, client_message_id)
  WHERE client_message_id <> '';
CREATE UNIQUE INDEX message_result ON message (tenant_id, conversation_id, tool_call_id) WHERE tool_call_id <> '';
CREATE INDEX message_pinned ON message (tenant_id, conversation_id, sequence) WHERE pinned;

-- One row for each call that an assistant message asks for: a call id is used once in a conversation.
CREATE TABLE tool_call (
  tenant_id text NOT NULL,
  conversation_id text NOT NULL,
  call_id text NOT NULL,
  sequence bigint NOT NULL,
  PRIMARY KEY (tenant_id, conversation_id, call_id),
  FOREIGN KEY (tenant_id, conversation_id, sequence) REFERENCES message ON DELETE CASCADE
);

ALTER TABLE conversation ENABLE ROW LEVEL SECURITY;
ALTER TABLE conversation FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON conversation USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));
ALTER TABLE message ENABLE ROW LEVEL SECURITY;
ALTER TABLE message FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON message USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));
ALTER TABLE tool_call ENABLE ROW LEVEL SECURITY;
ALTER TABLE tool_call FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON tool_call USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));
