-- Tenants and the API keys of their callers. A key is found by its id alone, before the tenant is
-- known; that is the system role's job "authenticate".
CREATE TABLE tenant (
  tenant_id text PRIMARY KEY CHECK (tenant_id ~ '^[A-Za-z0-9_-]{1,64}$'),
  created_at timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE tenant ENABLE ROW LEVEL SECURITY;
ALTER TABLE tenant FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON tenant
  USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));

CREATE TABLE api_key (
  tenant_id text NOT NULL REFERENCES tenant,
  id text NOT NULL CHECK (id ~ '^[a-z0-9]{12}$'),
  subject text NOT NULL,
  scopes text[] NOT NULL,
  digest bytea NOT NULL CHECK (octet_length(digest) = 32),
  digest_kind text NOT NULL CHECK (digest_kind IN ('hmac-sha256', 'sha256')),
  created_at timestamptz NOT NULL DEFAULT now(),
  revoked_at timestamptz,
  last_used_at timestamptz,
  PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX api_key_by_id ON api_key (id);
ALTER TABLE api_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_key FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON api_key
  USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));

-- Secrets that all replicas share and no tenant sees: without a policy only the system role gets in.
CREATE TABLE server_secret (
  name text PRIMARY KEY,
  value bytea NOT NULL
);
ALTER TABLE server_secret ENABLE ROW LEVEL SECURITY;
ALTER TABLE server_secret FORCE ROW LEVEL SECURITY;
