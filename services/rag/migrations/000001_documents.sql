-- Documents, their chunks with both indexes, and which embedder a collection was made with.

CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE collection (
  tenant_id text NOT NULL,
  name text NOT NULL,
  -- Vectors of two embedders never meet in one collection.
  embedder_id text NOT NULL,
  dimensions integer NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, name)
);

CREATE TABLE document (
  tenant_id text NOT NULL,
  document_id uuid NOT NULL,
  collection text NOT NULL,
  name text NOT NULL,
  media_type text NOT NULL,
  size_bytes bigint NOT NULL,
  sha256 text NOT NULL,
  chunk_count integer NOT NULL,
  -- The bytes as they were uploaded.
  blob_id text,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, document_id),
  FOREIGN KEY (tenant_id, collection) REFERENCES collection,
  FOREIGN KEY (tenant_id, blob_id) REFERENCES blob (tenant_id, id)
);
CREATE UNIQUE INDEX document_name ON document (tenant_id, collection, name COLLATE "C");

CREATE TABLE chunk (
  tenant_id text NOT NULL,
  document_id uuid NOT NULL,
  ordinal integer NOT NULL,
  chunk_id text NOT NULL,
  collection text NOT NULL,
  heading_path text[] NOT NULL,
  body text NOT NULL,
  -- Position within the document's text in UTF-16 units.
  start_offset bigint NOT NULL,
  end_offset bigint NOT NULL,
  -- Stemmed words and unspaced grams in one: a query of two languages is one query.
  terms tsvector NOT NULL,
  embedding public.vector NOT NULL,
  PRIMARY KEY (tenant_id, document_id, ordinal),
  FOREIGN KEY (tenant_id, document_id) REFERENCES document ON DELETE CASCADE
);
CREATE INDEX chunk_collection ON chunk (tenant_id, collection, chunk_id);
CREATE INDEX chunk_terms ON chunk USING gin (terms);

-- Ids of deleted documents, nothing else of them: deleting again is no error, an id that never was is one.
CREATE TABLE deleted_document (
  tenant_id text NOT NULL,
  document_id uuid NOT NULL,
  deleted_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, document_id)
);

ALTER TABLE collection ENABLE ROW LEVEL SECURITY;
ALTER TABLE collection FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON collection USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));
ALTER TABLE document ENABLE ROW LEVEL SECURITY;
ALTER TABLE document FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON document USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));
ALTER TABLE chunk ENABLE ROW LEVEL SECURITY;
ALTER TABLE chunk FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON chunk USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));
ALTER TABLE deleted_document ENABLE ROW LEVEL SECURITY;
ALTER TABLE deleted_document FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON deleted_document USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));
