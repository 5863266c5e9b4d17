CREATE TABLE blob (
  tenant_id text NOT NULL,
  id text NOT NULL,
  size bigint NOT NULL,
  sha256 bytea NOT NULL,
  content_type text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id)
);

-- A body in pieces of 256 KB, ordinal from 0; all but the last are full, so an offset names its piece.
CREATE TABLE blob_chunk (
  tenant_id text NOT NULL,
  blob_id text NOT NULL,
  ordinal integer NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (tenant_id, blob_id, ordinal),
  FOREIGN KEY (tenant_id, blob_id) REFERENCES blob (tenant_id, id) ON DELETE CASCADE
);
-- Bodies are mostly compressed or small already, and an uncompressed value can be read in part.
ALTER TABLE blob_chunk ALTER COLUMN data SET STORAGE EXTERNAL;

ALTER TABLE blob ENABLE ROW LEVEL SECURITY;
ALTER TABLE blob FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON blob USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));

ALTER TABLE blob_chunk ENABLE ROW LEVEL SECURITY;
ALTER TABLE blob_chunk FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON blob_chunk USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));
