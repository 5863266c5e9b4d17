-- What is done after a task's end: long-term memory is told to look at it. A row is written in the commit of the end,
-- so that no crash loses it, and is withdrawn in the commit that goes on with the task.
CREATE TABLE after_task (
  tenant_id text NOT NULL,
  task_id uuid NOT NULL,
  state text NOT NULL CHECK (state IN ('DUE', 'DONE', 'WITHDRAWN', 'GIVEN_UP')),
  -- Grows at every claim, end and withdrawal; what is reported must name the one it was given.
  epoch bigint NOT NULL DEFAULT 0,
  attempts integer NOT NULL DEFAULT 0,
  -- Claimed or not, nobody takes it up before.
  next_at timestamptz NOT NULL,
  -- What memory said, or the last problem.
  outcome text NOT NULL DEFAULT '',
  problem text NOT NULL DEFAULT '',
  PRIMARY KEY (tenant_id, task_id),
  FOREIGN KEY (tenant_id, task_id) REFERENCES task (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX after_task_due ON after_task (next_at) WHERE state = 'DUE';
ALTER TABLE after_task ENABLE ROW LEVEL SECURITY;
ALTER TABLE after_task FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON after_task USING (tenant_id = current_setting('app.tenant', true))
  WITH CHECK (tenant_id = current_setting('app.tenant', true));

-- The part of the task's usage that its long-term memory took: all of it so far, as memory tells it.
ALTER TABLE task ADD COLUMN memory_usage jsonb;

CREATE FUNCTION note_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.state IN ('SUCCEEDED', 'FAILED') THEN
    -- What is left of a failed task is given to memory after its end, within five seconds.
    INSERT INTO after_task (tenant_id, task_id, state, next_at)
      VALUES (NEW.tenant_id, NEW.id, 'DUE', now() + CASE NEW.state WHEN 'FAILED' THEN interval '6 s' ELSE interval '0' END)
      ON CONFLICT (tenant_id, task_id) DO UPDATE SET state = 'DUE', epoch = after_task.epoch + 1, attempts = 0,
        next_at = excluded.next_at, outcome = '', problem = '';
  ELSIF OLD.state IN ('FAILED', 'CANCELLED') THEN
    UPDATE after_task a SET state = 'WITHDRAWN', epoch = a.epoch + 1
      WHERE a.tenant_id = NEW.tenant_id AND a.task_id = NEW.id AND a.state = 'DUE';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER note_end AFTER UPDATE OF state ON task FOR EACH ROW WHEN (OLD.state IS DISTINCT FROM NEW.state)
  EXECUTE FUNCTION note_end();

-- Takes up to p_limit rows of all tenants for p_lease_ms: whoever takes them up is forgotten when that is over. One that
-- was tried p_most times is given up.
CREATE FUNCTION claim_after_tasks(p_limit integer, p_lease_ms integer, p_most integer)
RETURNS TABLE (tenant_id text, task_id uuid, epoch bigint, attempt integer) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  UPDATE after_task a SET state = 'GIVEN_UP', epoch = a.epoch + 1
    WHERE a.state = 'DUE' AND a.next_at <= now() AND a.attempts >= p_most;
  RETURN QUERY
  WITH chosen AS (
    SELECT a.tenant_id, a.task_id FROM after_task a WHERE a.state = 'DUE' AND a.next_at <= now()
      ORDER BY a.next_at LIMIT p_limit FOR UPDATE SKIP LOCKED)
  UPDATE after_task a SET epoch = a.epoch + 1, attempts = a.attempts + 1,
      next_at = now() + make_interval(secs => p_lease_ms / 1000.0)
    FROM chosen c WHERE a.tenant_id = c.tenant_id AND a.task_id = c.task_id
    RETURNING a.tenant_id, a.task_id, a.epoch, a.attempts;
END $$;

-- Ends a row as p_state with what memory said. The cost is taken over whoever holds the row: p_usage is all that the
-- task's memory took so far, so that saying it twice adds nothing, and NULL where memory asked no model.
CREATE FUNCTION finish_after_task(p_tenant text, p_task uuid, p_epoch bigint, p_state text, p_outcome text,
  p_problem text, p_usage jsonb) RETURNS TABLE (finished boolean) LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
  v_before jsonb;
BEGIN
  PERFORM set_config('app.tenant', p_tenant, true);
  SELECT coalesce(k.memory_usage, '{}') INTO v_before FROM task k
    WHERE k.tenant_id = p_tenant AND k.id = p_task FOR UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT false;
    RETURN;
  END IF;
  IF p_usage IS NOT NULL AND (p_usage->>'inputTokens')::bigint >= coalesce((v_before->>'inputTokens')::bigint, 0) THEN
    UPDATE task k SET memory_usage = p_usage,
        input_tokens = k.input_tokens + (p_usage->>'inputTokens')::bigint
          - coalesce((v_before->>'inputTokens')::bigint, 0),
        output_tokens = k.output_tokens + (p_usage->>'outputTokens')::bigint
          - coalesce((v_before->>'outputTokens')::bigint, 0),
        cached_input_tokens = k.cached_input_tokens + (p_usage->>'cachedInputTokens')::bigint
          - coalesce((v_before->>'cachedInputTokens')::bigint, 0),
        reasoning_tokens = k.reasoning_tokens + (p_usage->>'reasoningTokens')::bigint
          - coalesce((v_before->>'reasoningTokens')::bigint, 0),
        cost_nano_usd = k.cost_nano_usd + (p_usage->>'costNanoUsd')::bigint
          - coalesce((v_before->>'costNanoUsd')::bigint, 0)
      WHERE k.tenant_id = p_tenant AND k.id = p_task;
  END IF;
  UPDATE after_task a SET state = p_state, outcome = p_outcome, problem = p_problem
    WHERE a.tenant_id = p_tenant AND a.task_id = p_task AND a.epoch = p_epoch AND a.state = 'DUE';
  RETURN QUERY SELECT FOUND;
END $$;

-- Gives a row back, to be taken up again after p_delay_ms; a try that was handed over does not count.
CREATE FUNCTION retry_after_task(p_tenant text, p_task uuid, p_epoch bigint, p_delay_ms bigint, p_problem text)
RETURNS TABLE (given_back boolean) LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
  PERFORM set_config('app.tenant', p_tenant, true);
  UPDATE after_task a SET next_at = now() + make_interval(secs => p_delay_ms / 1000.0), problem = p_problem,
      attempts = CASE WHEN p_delay_ms = 0 THEN greatest(a.attempts - 1, 0) ELSE a.attempts END
    WHERE a.tenant_id = p_tenant AND a.task_id = p_task AND a.epoch = p_epoch AND a.state = 'DUE';
  RETURN QUERY SELECT FOUND;
END $$;
