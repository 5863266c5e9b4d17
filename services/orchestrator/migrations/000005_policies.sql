-- How often the rules of a tenant were changed, so that a worker asks with one question whether it knows them all.
CREATE TABLE policy_version (
  tenant_id text PRIMARY KEY,
  version bigint NOT NULL
);
ALTER TABLE policy_version ENABLE ROW LEVEL SECURITY;
ALTER TABLE policy_version FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON policy_version USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));

-- Writes a rule. Outcome 'written', or 'full' where the tenant has p_most others.
CREATE FUNCTION put_policy(p_tenant text, p_name text, p_priority integer, p_body jsonb, p_actor text, p_most integer)
RETURNS TABLE (outcome text, updated_at timestamptz) LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
  v_at timestamptz;
BEGIN
  PERFORM set_config('app.tenant', p_tenant, true);
  -- Its row stays locked until the end, so that the limit holds and a version says what the rules are.
  INSERT INTO policy_version (tenant_id, version) VALUES (p_tenant, 1)
    ON CONFLICT (tenant_id) DO UPDATE SET version = policy_version.version + 1;
  IF (SELECT count(*) FROM policy p WHERE p.tenant_id = p_tenant AND p.name <> p_name) >= p_most THEN
    RETURN QUERY SELECT 'full', NULL::timestamptz;
    RETURN;
  END IF;
  INSERT INTO policy (tenant_id, name, priority, body, updated_by)
    VALUES (p_tenant, p_name, p_priority, p_body, p_actor)
    ON CONFLICT (tenant_id, name) DO UPDATE SET priority = p_priority, body = p_body, updated_by = p_actor,
      updated_at = now()
    RETURNING policy.updated_at INTO v_at;
  RETURN QUERY SELECT 'written', v_at;
END $$;

-- Removes a rule; again changes nothing.
CREATE FUNCTION delete_policy(p_tenant text, p_name text) RETURNS TABLE (removed boolean)
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  PERFORM set_config('app.tenant', p_tenant, true);
  INSERT INTO policy_version (tenant_id, version) VALUES (p_tenant, 1)
    ON CONFLICT (tenant_id) DO UPDATE SET version = policy_version.version + 1;
  DELETE FROM policy p WHERE p.tenant_id = p_tenant AND p.name = p_name;
  RETURN QUERY SELECT FOUND;
END $$;

-- The version of a tenant's rules and, where it is another than p_known, all of them.
CREATE FUNCTION read_policies(p_tenant text, p_known bigint) RETURNS TABLE (version bigint, rules jsonb)
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
  PERFORM set_config('app.tenant', p_tenant, true);
  RETURN QUERY WITH now_at AS (SELECT coalesce(max(v.version), 0) AS version FROM policy_version v
      WHERE v.tenant_id = p_tenant)
    SELECT n.version, CASE WHEN n.version = p_known THEN NULL ELSE coalesce((SELECT jsonb_agg(p.body ||
        jsonb_build_object('name', p.name, 'priority', p.priority)) FROM policy p WHERE p.tenant_id = p_tenant), '[]') END
    FROM now_at n;
END $$;

CREATE INDEX approval_listed ON approval (tenant_id, id DESC);
