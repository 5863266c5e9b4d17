-- Which instance has the session containers of a task, at most one at a time. The database's clock decides whether a lease is good.
CREATE TABLE session_owner (
  tenant_id text NOT NULL,
  task_id text NOT NULL,
  -- Empty where nobody has them.
  owner text NOT NULL,
  -- host:port where other instances reach the owner.
  address text NOT NULL,
  -- Grows with every taking, so that an owner of before is told apart from the one of now.
  epoch bigint NOT NULL,
  lease_until timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, task_id)
);
CREATE INDEX session_owner_of_instance ON session_owner (owner);

ALTER TABLE session_owner ENABLE ROW LEVEL SECURITY;
ALTER TABLE session_owner FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON session_owner
  USING (tenant_id = current_setting('app.tenant', true)) WITH CHECK (tenant_id = current_setting('app.tenant', true));

-- Where other instances reach the instance that runs the execution; empty for those from before.
ALTER TABLE execution ADD COLUMN owner_address text NOT NULL DEFAULT '';
