-- Servers of tools, and hooks, of a tenant. `body` names secrets and never holds one.
CREATE TABLE tool_server (
  tenant_id text NOT NULL,
  name text NOT NULL,
  body jsonb NOT NULL,
  version bigint NOT NULL DEFAULT 1,
  updated_at timestamptz NOT NULL DEFAULT now(),
  updated_by text NOT NULL,
  PRIMARY KEY (tenant_id, name)
);
-- How often the servers of a tenant were changed, so that one question says whether a replica knows them all. Never
-- goes back, also when the rows go: a replica must not take what it knows for what there is.
CREATE TABLE tool_server_version (
  tenant_id text PRIMARY KEY,
  version bigint NOT NULL
);
DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['tool_server', 'tool_server_version'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY tenant ON %I USING (tenant_id = current_setting(''app.tenant'', true)) '
      'WITH CHECK (tenant_id = current_setting(''app.tenant'', true))', t);
  END LOOP;
END $$;

-- Writes a row. Outcome 'written', 'stale' where it has another version than p_expected (0 is any), or 'full' where the
-- tenant has p_most others.
CREATE FUNCTION put_tool_server(p_tenant text, p_name text, p_body jsonb, p_expected bigint, p_actor text, p_most integer)
RETURNS TABLE (outcome text, version bigint, updated_at timestamptz) LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
  v_row tool_server;
BEGIN
  PERFORM set_config('app.tenant', p_tenant, true);
  -- Its row stays locked until the end, so that the limit holds and a version says what the rows are.
  INSERT INTO tool_server_version (tenant_id, version) VALUES (p_tenant, 1)
    ON CONFLICT (tenant_id) DO UPDATE SET version = tool_server_version.version + 1;
  IF (SELECT count(*) FROM tool_server s WHERE s.tenant_id = p_tenant AND s.name <> p_name) >= p_most THEN
    RETURN QUERY SELECT 'full', 0::bigint, NULL::timestamptz;
    RETURN;
  END IF;
  SELECT * INTO v_row FROM tool_server s WHERE s.tenant_id = p_tenant AND s.name = p_name;
  IF p_expected <> 0 AND coalesce(v_row.version, 0) <> p_expected THEN
    RETURN QUERY SELECT 'stale', coalesce(v_row.version, 0), v_row.updated_at;
    RETURN;
  END IF;
  INSERT INTO tool_server (tenant_id, name, body, updated_by) VALUES (p_tenant, p_name, p_body, p_actor)
    ON CONFLICT (tenant_id, name) DO UPDATE SET body = p_body, version = tool_server.version + 1,
      updated_by = p_actor, updated_at = now()
    RETURNING * INTO v_row;
  RETURN QUERY SELECT 'written', v_row.version, v_row.updated_at;
END $$;

-- Removes a row; again changes nothing.
CREATE FUNCTION delete_tool_server(p_tenant text, p_name text) RETURNS TABLE (removed boolean)
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  PERFORM set_config('app.tenant', p_tenant, true);
  INSERT INTO tool_server_version (tenant_id, version) VALUES (p_tenant, 1)
    ON CONFLICT (tenant_id) DO UPDATE SET version = tool_server_version.version + 1;
  DELETE FROM tool_server s WHERE s.tenant_id = p_tenant AND s.name = p_name;
  RETURN QUERY SELECT FOUND;
END $$;

-- The version of a tenant's rows and, where it is another than p_known, all of them.
CREATE FUNCTION read_tool_servers(p_tenant text, p_known bigint) RETURNS TABLE (version bigint, servers jsonb)
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
  PERFORM set_config('app.tenant', p_tenant, true);
  RETURN QUERY WITH now_at AS (SELECT coalesce(max(v.version), 0) AS version FROM tool_server_version v
      WHERE v.tenant_id = p_tenant)
    SELECT n.version, CASE WHEN n.version = p_known THEN NULL ELSE coalesce((SELECT jsonb_agg(s.body ||
        jsonb_build_object('name', s.name)) FROM tool_server s WHERE s.tenant_id = p_tenant), '[]') END
    FROM now_at n;
END $$;

-- A removal of a whole tenant takes its servers with it.
CREATE FUNCTION forget_tool_servers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM tool_server s WHERE s.tenant_id = NEW.tenant_id;
  UPDATE tool_server_version v SET version = v.version + 1 WHERE v.tenant_id = NEW.tenant_id;
  RETURN NULL;
END $$;
CREATE TRIGGER purge_tool_servers AFTER UPDATE OF completed_at ON purge FOR EACH ROW
  WHEN (NEW.kind = 'tenant' AND OLD.completed_at IS NULL AND NEW.completed_at IS NOT NULL)
  EXECUTE FUNCTION forget_tool_servers();
