-- Every write of a task is one call of one of these functions: each sets the tenant, checks, and writes.

-- Takes a task, as it is about to be written, into another state: its transition row, its event and, where the
-- state is terminal, the last event. Called by the functions below, under their row lock.
CREATE FUNCTION enter_state(t task, p_to text, p_actor text, p_reason text, p_input text) RETURNS task
LANGUAGE plpgsql AS $$
DECLARE
  v_from text := t.state;
BEGIN
  t.state := p_to;
  t.last_sequence := t.last_sequence + 1;
  INSERT INTO transition (tenant_id, task_id, version, from_state, to_state, actor, reason, input_event, output_event)
    VALUES (t.tenant_id, t.id, t.version, v_from, p_to, p_actor, p_reason, p_input, t.last_sequence);
  INSERT INTO event (tenant_id, task_id, sequence, round, body)
    VALUES (t.tenant_id, t.id, t.last_sequence, t.round, jsonb_build_object('type', 'status_changed', 'from', v_from,
      'to', p_to, 'actor', p_actor, 'reason', p_reason, 'version', t.version));
  IF p_to = 'RUNNING' THEN
    t.started_at := coalesce(t.started_at, now());
  ELSIF p_to IN ('SUCCEEDED', 'FAILED', 'CANCELLED') THEN
    t.ended_at := now();
    t.lease_owner := NULL;
    t.lease_until := NULL;
    IF p_to = 'CANCELLED' THEN
      t.failure_reason := 'CANCELLED';
      t.failure_message := format('Cancelled by %s in round %s%s', p_actor, t.round,
        CASE WHEN p_reason = '' THEN '.' ELSE ': ' || p_reason END);
    END IF;
    t.last_sequence := t.last_sequence + 1;
    INSERT INTO event (tenant_id, task_id, sequence, round, body)
      VALUES (t.tenant_id, t.id, t.last_sequence, t.round, jsonb_build_object('type', 'task_completed', 'state', p_to,
        'answer', t.answer, 'failureReason', t.failure_reason, 'failureMessage', t.failure_message, 'rounds', t.round,
        'usage', jsonb_build_object('inputTokens', t.input_tokens, 'outputTokens', t.output_tokens,
          'cachedInputTokens', t.cached_input_tokens, 'reasoningTokens', t.reasoning_tokens,
          'costNanoUsd', t.cost_nano_usd)));
  END IF;
  RETURN t;
END $$;

-- Records a task with its first transition, event and step. Outcome 'created', 'existing' (the request id was used
-- with the same body) or 'conflict' (with another one).
CREATE FUNCTION submit_task(p_tenant text, p_request_id text, p_body_hash text, p_task jsonb)
RETURNS TABLE (outcome text, task_id uuid) LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
  t task;
  v_known request_id;
BEGIN
  PERFORM set_config('app.tenant', p_tenant, true);
  IF p_request_id <> '' THEN
    INSERT INTO request_id (tenant_id, method, request_id, body_hash, response_id)
      VALUES (p_tenant, 'SubmitTask', p_request_id, p_body_hash, (p_task->>'id')::uuid) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      SELECT * INTO v_known FROM request_id r
        WHERE r.tenant_id = p_tenant AND r.method = 'SubmitTask' AND r.request_id = p_request_id;
      RETURN QUERY SELECT CASE WHEN v_known.body_hash = p_body_hash THEN 'existing' ELSE 'conflict' END,
        v_known.response_id;
      RETURN;
    END IF;
  END IF;
  INSERT INTO task (tenant_id, id, state, mode, prompt, model, collection, conversation_id, workspace_id, trace_id,
      created_by, max_rounds, version)
    VALUES (p_tenant, (p_task->>'id')::uuid, 'CREATED', p_task->>'mode', p_task->>'prompt', p_task->>'model',
      p_task->>'collection', (p_task->>'conversationId')::uuid, (p_task->>'workspaceId')::uuid, p_task->>'traceId',
      p_task->>'createdBy', (p_task->>'maxRounds')::int, 1)
    RETURNING * INTO t;
  t.state := 'UNSPECIFIED';
  t := enter_state(t, 'CREATED', t.created_by, 'submitted', 'submitted');
  UPDATE task SET last_sequence = t.last_sequence WHERE tenant_id = p_tenant AND id = t.id;
  INSERT INTO step (tenant_id, task_id, seq, round, kind, body, epoch)
    VALUES (p_tenant, t.id, 1, 0, 'prompt', jsonb_build_object('text', t.prompt), 0);
  RETURN QUERY SELECT 'created', t.id;
END $$;

-- One commit of a worker. Outcome 'committed', 'fenced' (another owner, another version or an ended task: nothing
-- was written) or 'cancelled' (a success that came after a cancel: nothing was written).
CREATE FUNCTION commit_task(p_tenant text, p_task uuid, p_epoch bigint, p_version bigint, p_change jsonb)
RETURNS TABLE (outcome text, version bigint, last_sequence bigint, cancel_requested boolean)
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
  t task;
  v_to text := p_change->>'to';
  v_usage jsonb := p_change->'usage';
  v_count bigint;
BEGIN
  PERFORM set_config('app.tenant', p_tenant, true);
  SELECT * INTO t FROM task k WHERE k.tenant_id = p_tenant AND k.id = p_task AND k.lease_epoch = p_epoch
    AND k.version = p_version AND k.state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED') FOR UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'fenced', 0::bigint, 0::bigint, false;
    RETURN;
  END IF;
  IF v_to = 'SUCCEEDED' AND t.cancel_requested_at IS NOT NULL THEN
    RETURN QUERY SELECT 'cancelled', t.version, t.last_sequence, true;
    RETURN;
  END IF;
  t.version := t.version + 1;
  t.round := coalesce((p_change->>'round')::int, t.round);
  t.workspace_id := coalesce((p_change->>'workspaceId')::uuid, t.workspace_id);
  t.answer := coalesce(p_change->>'answer', t.answer);
  t.failure_reason := coalesce(p_change->>'failureReason', t.failure_reason);
  t.failure_message := coalesce(p_change->>'failureMessage', t.failure_message);
  IF v_usage IS NOT NULL THEN
    t.input_tokens := t.input_tokens + (v_usage->>'inputTokens')::bigint;
    t.output_tokens := t.output_tokens + (v_usage->>'outputTokens')::bigint;
    t.cached_input_tokens := t.cached_input_tokens + (v_usage->>'cachedInputTokens')::bigint;
    t.reasoning_tokens := t.reasoning_tokens + (v_usage->>'reasoningTokens')::bigint;
    t.cost_nano_usd := t.cost_nano_usd + (v_usage->>'costNanoUsd')::bigint;
  END IF;

  INSERT INTO step (tenant_id, task_id, seq, round, kind, body, epoch)
    SELECT p_tenant, p_task, s.seq, s.round, s.kind, s.body, p_epoch
    FROM jsonb_to_recordset(p_change->'steps') AS s(seq bigint, round int, kind text, body jsonb);
  INSERT INTO tool_call (tenant_id, task_id, call_id, step_seq, ordinal, provider_call_id, tool, arguments,
      arguments_preview, state, epoch)
    SELECT p_tenant, p_task, c."callId", c."stepSeq", c.ordinal, c."providerCallId", c.tool, c.arguments,
      c."argumentsPreview", 'PROPOSED', p_epoch
    FROM jsonb_to_recordset(p_change->'intents') AS c("callId" uuid, "stepSeq" bigint, ordinal int,
      "providerCallId" text, tool text, arguments text, "argumentsPreview" text);
  IF p_change ? 'dispatched' THEN
    UPDATE tool_call c SET state = 'DISPATCHED', epoch = p_epoch, dispatched_at = coalesce(c.dispatched_at, now())
      WHERE c.tenant_id = p_tenant AND c.task_id = p_task AND c.state IN ('PROPOSED', 'APPROVED', 'DISPATCHED')
        AND c.call_id IN (SELECT d::uuid FROM jsonb_array_elements_text(p_change->'dispatched') d);
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF v_count <> jsonb_array_length(p_change->'dispatched') THEN
      RAISE EXCEPTION 'Only calls without a result can be dispatched.' USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF p_change ? 'results' THEN
    UPDATE tool_call c SET state = r.state, epoch = p_epoch, ended_at = now(), shown = r.shown, summary = r.summary,
        error_code = r."errorCode", retryable = r.retryable, artifacts = r.artifacts,
        result_characters = r."resultCharacters", shown_characters = r."shownCharacters",
        spill_pointer = r."spillPointer", duration_ms = r."durationMs"
      FROM jsonb_to_recordset(p_change->'results') AS r("callId" uuid, state text, shown text, summary text,
        "errorCode" text, retryable boolean, artifacts jsonb, "resultCharacters" bigint, "shownCharacters" bigint,
        "spillPointer" text, "durationMs" bigint)
      WHERE c.tenant_id = p_tenant AND c.task_id = p_task AND c.call_id = r."callId"
        AND c.state IN ('PROPOSED', 'AWAITING', 'APPROVED', 'DISPATCHED');
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF v_count <> jsonb_array_length(p_change->'results') THEN
      RAISE EXCEPTION 'A call gets one result.' USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  INSERT INTO event (tenant_id, task_id, sequence, round, body)
    SELECT p_tenant, p_task, t.last_sequence + e.ordinal, t.round, e.body
    FROM jsonb_array_elements(p_change->'events') WITH ORDINALITY AS e(body, ordinal);
  t.last_sequence := t.last_sequence + coalesce(jsonb_array_length(p_change->'events'), 0);
  IF v_to = 'CANCELLED' THEN
    t := enter_state(t, v_to, t.cancel_actor, t.cancel_reason, 'cancel_requested');
  ELSIF v_to IS NOT NULL THEN
    t := enter_state(t, v_to, p_change->>'actor', p_change->>'reason', p_change->>'input');
  END IF;

  UPDATE task k SET state = t.state, round = t.round, workspace_id = t.workspace_id, version = t.version,
      last_sequence = t.last_sequence, answer = t.answer, failure_reason = t.failure_reason,
      failure_message = t.failure_message, input_tokens = t.input_tokens, output_tokens = t.output_tokens,
      cached_input_tokens = t.cached_input_tokens, reasoning_tokens = t.reasoning_tokens,
      cost_nano_usd = t.cost_nano_usd, lease_owner = t.lease_owner, lease_until = t.lease_until,
      started_at = t.started_at, ended_at = t.ended_at
    WHERE k.tenant_id = p_tenant AND k.id = p_task AND k.lease_epoch = p_epoch;
  RETURN QUERY SELECT 'committed', t.version, t.last_sequence, t.cancel_requested_at IS NOT NULL;
END $$;

-- Records a wish to cancel. Nobody at work and no call open: the task is CANCELLED here and now; otherwise its owner,
-- or the next one, ends it when its work has stopped. Outcome 'cancelled', 'requested', 'ended' or 'not_found'.
CREATE FUNCTION cancel_task(p_tenant text, p_task uuid, p_actor text, p_reason text)
RETURNS TABLE (outcome text, last_sequence bigint) LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
  t task;
BEGIN
  PERFORM set_config('app.tenant', p_tenant, true);
  SELECT * INTO t FROM task k WHERE k.tenant_id = p_tenant AND k.id = p_task FOR UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'not_found', 0::bigint;
    RETURN;
  END IF;
  IF t.state IN ('SUCCEEDED', 'FAILED', 'CANCELLED') THEN
    RETURN QUERY SELECT 'ended', t.last_sequence;
    RETURN;
  END IF;
  IF t.cancel_requested_at IS NULL THEN
    t.cancel_requested_at := now();
    t.cancel_actor := p_actor;
    t.cancel_reason := p_reason;
  END IF;
  IF coalesce(t.lease_until > now(), false) OR EXISTS (SELECT FROM tool_call c WHERE c.tenant_id = p_tenant
      AND c.task_id = p_task AND c.state IN ('PROPOSED', 'AWAITING', 'APPROVED', 'DISPATCHED')) THEN
    UPDATE task k SET cancel_requested_at = t.cancel_requested_at, cancel_actor = t.cancel_actor,
        cancel_reason = t.cancel_reason, next_run_at = now()
      WHERE k.tenant_id = p_tenant AND k.id = p_task;
    RETURN QUERY SELECT 'requested', t.last_sequence;
    RETURN;
  END IF;
  t.version := t.version + 1;
  t := enter_state(t, 'CANCELLED', t.cancel_actor, t.cancel_reason, 'cancel_requested');
  UPDATE task k SET state = t.state, version = t.version, last_sequence = t.last_sequence,
      lease_epoch = k.lease_epoch + 1, lease_owner = NULL, lease_until = NULL, failure_reason = t.failure_reason,
      failure_message = t.failure_message, cancel_requested_at = t.cancel_requested_at, cancel_actor = t.cancel_actor,
      cancel_reason = t.cancel_reason, ended_at = t.ended_at
    WHERE k.tenant_id = p_tenant AND k.id = p_task;
  RETURN QUERY SELECT 'cancelled', t.last_sequence;
END $$;

-- Keeps a claimed task for another p_ttl_ms. No row: the authority is lost.
CREATE FUNCTION renew_lease(p_tenant text, p_task uuid, p_epoch bigint, p_ttl_ms integer)
RETURNS TABLE (cancel_requested boolean) LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  PERFORM set_config('app.tenant', p_tenant, true);
  RETURN QUERY UPDATE task k SET lease_until = now() + make_interval(secs => p_ttl_ms / 1000.0)
    WHERE k.tenant_id = p_tenant AND k.id = p_task AND k.lease_epoch = p_epoch
      AND k.state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED')
    RETURNING k.cancel_requested_at IS NOT NULL;
END $$;

-- Gives a claimed task back, to be claimed again after p_delay_ms. The epoch grows, so that the giver cannot write on.
CREATE FUNCTION release_lease(p_tenant text, p_task uuid, p_epoch bigint, p_delay_ms integer)
RETURNS TABLE (released boolean) LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  PERFORM set_config('app.tenant', p_tenant, true);
  RETURN QUERY UPDATE task k SET lease_owner = NULL, lease_until = NULL, lease_epoch = k.lease_epoch + 1,
      next_run_at = now() + make_interval(secs => p_delay_ms / 1000.0)
    WHERE k.tenant_id = p_tenant AND k.id = p_task AND k.lease_epoch = p_epoch
      AND k.state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED')
    RETURNING true;
END $$;
