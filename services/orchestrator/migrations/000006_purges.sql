-- Removals of what is kept about somebody: a row each, a row for the part of each service, and what they are about.

CREATE TABLE purge (
  tenant_id text NOT NULL,
  id uuid NOT NULL,
  request_id text NOT NULL,
  body_hash text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('conversation', 'user', 'tenant')),
  -- The conversation or the user; emptied at the end, because a receipt must not keep what was removed.
  subject text NOT NULL,
  requested_by text NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT now(),
  -- Since when no task of the subject lives and the last writes for them have arrived.
  settled_at timestamptz,
  completed_at timestamptz,
  -- Grows at every claim; every write names the one it was given.
  lease_epoch bigint NOT NULL DEFAULT 0,
  lease_owner text,
  lease_until timestamptz,
  next_run_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, id)
);
CREATE UNIQUE INDEX purge_request ON purge (tenant_id, request_id) WHERE request_id <> '';
CREATE INDEX purge_open ON purge (tenant_id) WHERE completed_at IS NULL;
CREATE INDEX purge_due ON purge (next_run_at) WHERE completed_at IS NULL;

CREATE TABLE purge_part (
  tenant_id text NOT NULL,
  purge_id uuid NOT NULL,
  service text NOT NULL CHECK (service IN ('orchestrator', 'sandbox', 'memory', 'rag', 'trace')),
  done boolean NOT NULL DEFAULT false,
  removed bigint NOT NULL DEFAULT 0,
  problem text NOT NULL DEFAULT '',
  -- One pass goes over all targets; `found` is what it has removed, `position` the last target that it is through with.
  passes integer NOT NULL DEFAULT 0,
  found bigint NOT NULL DEFAULT 0,
  position uuid,
  failures integer NOT NULL DEFAULT 0,
  next_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, purge_id, service),
  FOREIGN KEY (tenant_id, purge_id) REFERENCES purge (tenant_id, id) ON DELETE CASCADE
);

-- The tasks of the subject, kept apart from the tasks themselves: one that is removed meanwhile must still be named to
-- the other services. Empty for a whole tenant.
CREATE TABLE purge_target (
  tenant_id text NOT NULL,
  purge_id uuid NOT NULL,
  task_id uuid NOT NULL,
  trace_id text NOT NULL,
  -- Where no task of somebody else names it; the task's own id where it is not known whether there is one.
  workspace_id uuid,
  PRIMARY KEY (tenant_id, purge_id, task_id),
  FOREIGN KEY (tenant_id, purge_id) REFERENCES purge (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX task_workspace ON task (tenant_id, workspace_id) WHERE workspace_id IS NOT NULL;

DO $$
DECLARE
  t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['purge', 'purge_part', 'purge_target'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY tenant ON %I USING (tenant_id = current_setting(''app.tenant'', true)) '
      'WITH CHECK (tenant_id = current_setting(''app.tenant'', true))', t);
  END LOOP;
END $$;

-- While a removal goes on, nothing begins that it would have to remove as well.
CREATE FUNCTION refuse_while_purged() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM purge p WHERE p.tenant_id = NEW.tenant_id AND p.completed_at IS NULL AND (p.kind = 'tenant'
      OR (p.kind = 'user' AND p.subject = NEW.created_by)
      OR (p.kind = 'conversation' AND p.subject = NEW.conversation_id::text))) THEN
    RAISE EXCEPTION 'What is kept about the subject of this task is being removed.' USING ERRCODE = 'DR001';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER refuse_while_purged BEFORE INSERT ON task FOR EACH ROW EXECUTE FUNCTION refuse_while_purged();
CREATE TRIGGER refuse_resume_while_purged BEFORE UPDATE OF state ON task FOR EACH ROW
  WHEN (OLD.state IN ('FAILED', 'CANCELLED') AND NEW.state <> OLD.state) EXECUTE FUNCTION refuse_while_purged();

-- Records a removal with its parts and targets. Outcome 'created', 'existing' (the request id was used with the same
-- body) or 'conflict' (with another one).
CREATE FUNCTION begin_purge(p_tenant text, p_purge jsonb) RETURNS TABLE (outcome text, id uuid)
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
  v_id uuid := (p_purge->>'id')::uuid;
  v_kind text := p_purge->>'kind';
  v_subject text := p_purge->>'subject';
  v_known purge;
BEGIN
  PERFORM set_config('app.tenant', p_tenant, true);
  -- As submit_task does: a task is either recorded before and a target, or refused.
  PERFORM pg_advisory_xact_lock(hashtextextended('submit ' || p_tenant, 0));
  IF p_purge->>'requestId' <> '' THEN
    SELECT * INTO v_known FROM purge p WHERE p.tenant_id = p_tenant AND p.request_id = p_purge->>'requestId';
    IF FOUND THEN
      RETURN QUERY SELECT CASE WHEN v_known.body_hash = p_purge->>'bodyHash' THEN 'existing' ELSE 'conflict' END,
        v_known.id;
      RETURN;
    END IF;
  END IF;
  INSERT INTO purge (tenant_id, id, request_id, body_hash, kind, subject, requested_by)
    VALUES (p_tenant, v_id, p_purge->>'requestId', p_purge->>'bodyHash', v_kind, v_subject, p_purge->>'requestedBy');
  INSERT INTO purge_part (tenant_id, purge_id, service)
    SELECT p_tenant, v_id, s FROM unnest(ARRAY['orchestrator', 'sandbox', 'memory', 'rag', 'trace']) s;
  INSERT INTO purge_target (tenant_id, purge_id, task_id, trace_id)
    SELECT p_tenant, v_id, k.id, k.trace_id FROM task k WHERE k.tenant_id = p_tenant
      AND ((v_kind = 'user' AND k.created_by = v_subject)
        OR (v_kind = 'conversation' AND k.conversation_id::text = v_subject));
  RETURN QUERY SELECT 'created', v_id;
END $$;

-- Keeps a claimed removal for another p_ttl_ms; false where the authority is lost. Every write begins with it: its row
-- lock holds back the next claimer until the write is there.
CREATE FUNCTION hold_purge(p_tenant text, p_purge uuid, p_epoch bigint, p_ttl_ms integer) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE purge p SET lease_until = now() + make_interval(secs => p_ttl_ms / 1000.0)
    WHERE p.tenant_id = p_tenant AND p.id = p_purge AND p.lease_epoch = p_epoch AND p.completed_at IS NULL;
  RETURN FOUND;
END $$;

-- Removes a part of the orchestrator's own rows of a removal whose other parts are done: at most p_limit tasks. With the
-- last of them the removal is complete, and its subject forgotten. How many rows went, and whether it is complete.
CREATE FUNCTION purge_own(p_tenant text, p_purge uuid, p_epoch bigint, p_ttl_ms integer, p_limit integer)
RETURNS TABLE (held boolean, complete boolean) LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
  p purge;
  v_tasks uuid[];
  v_gone bigint := 0;
  v_count bigint;
BEGIN
  PERFORM set_config('app.tenant', p_tenant, true);
  IF NOT hold_purge(p_tenant, p_purge, p_epoch, p_ttl_ms) THEN
    RETURN QUERY SELECT false, false;
    RETURN;
  END IF;
  SELECT * INTO p FROM purge x WHERE x.tenant_id = p_tenant AND x.id = p_purge;
  IF p.kind = 'tenant' THEN
    v_tasks := ARRAY(SELECT k.id FROM task k WHERE k.tenant_id = p_tenant LIMIT p_limit);
  ELSE
    v_tasks := ARRAY(SELECT t.task_id FROM purge_target t WHERE t.tenant_id = p_tenant AND t.purge_id = p_purge
      ORDER BY t.task_id LIMIT p_limit);
  END IF;
  DELETE FROM task k WHERE k.tenant_id = p_tenant AND k.id = ANY (v_tasks)
    AND k.state IN ('SUCCEEDED', 'FAILED', 'CANCELLED');
  GET DIAGNOSTICS v_gone = ROW_COUNT;
  DELETE FROM request_id r WHERE r.tenant_id = p_tenant AND r.response_id = ANY (v_tasks);
  DELETE FROM purge_target t WHERE t.tenant_id = p_tenant AND t.purge_id = p_purge AND t.task_id = ANY (v_tasks);
  IF cardinality(v_tasks) < p_limit THEN
    IF p.kind = 'tenant' THEN
      DELETE FROM request_id r WHERE r.tenant_id = p_tenant;
      DELETE FROM agent a WHERE a.tenant_id = p_tenant;
      GET DIAGNOSTICS v_count = ROW_COUNT;
      v_gone := v_gone + v_count;
      DELETE FROM policy x WHERE x.tenant_id = p_tenant;
      GET DIAGNOSTICS v_count = ROW_COUNT;
      v_gone := v_gone + v_count;
      -- Goes on counting, so that no replica takes rules it knows for those that will be.
      UPDATE policy_version v SET version = v.version + 1 WHERE v.tenant_id = p_tenant;
    END IF;
    UPDATE purge x SET completed_at = now(), subject = '', lease_owner = NULL, lease_until = NULL
      WHERE x.tenant_id = p_tenant AND x.id = p_purge;
  END IF;
  UPDATE purge_part x SET removed = x.removed + v_gone, done = cardinality(v_tasks) < p_limit, problem = ''
    WHERE x.tenant_id = p_tenant AND x.purge_id = p_purge AND x.service = 'orchestrator';
  RETURN QUERY SELECT true, cardinality(v_tasks) < p_limit;
END $$;
