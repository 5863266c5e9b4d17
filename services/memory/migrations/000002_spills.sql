-- The whole text of a tool result that is too large for the log; the body itself is a blob.
CREATE TABLE spill (
  tenant_id text NOT NULL,
  conversation_id text NOT NULL,
  call_id text NOT NULL,
  blob_id text NOT NULL,
  -- Bytes that the body has for each UTF-16 unit of the text: 1 (Latin-1) or 2 (UTF-16LE).
  unit_bytes smallint NOT NULL CHECK (unit_bytes IN (1, 2)),
  -- Of the text as UTF-8.
  size_bytes bigint NOT NULL,
  characters bigint NOT NULL,
  content_hash text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, conversation_id, call_id),
  FOREIGN KEY (tenant_id, conversation_id) REFERENCES conversation ON DELETE CASCADE,
  FOREIGN KEY (tenant_id, blob_id) REFERENCES blob (tenant_id, id)
);
ALTER TABLE spill ENABLE ROW LEVEL SECURITY;
ALTER TABLE spill FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON spill USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));
