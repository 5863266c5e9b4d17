-- The functions of 000002_commits.sql, grown by approvals, budgets, fair claims and resume.

-- The next number in a tenant's log of approvals. Its row stays locked until the end of the transaction, so that
-- numbers become visible in their order.
CREATE FUNCTION log_approval(p_tenant text, p_approval uuid, p_state text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  v_sequence bigint;
BEGIN
  INSERT INTO approval_sequence (tenant_id, last) VALUES (p_tenant, 1)
    ON CONFLICT (tenant_id) DO UPDATE SET last = approval_sequence.last + 1 RETURNING last INTO v_sequence;
  UPDATE approval SET sequence = v_sequence WHERE tenant_id = p_tenant AND id = p_approval;
  INSERT INTO approval_change (tenant_id, sequence, approval_id, state)
    VALUES (p_tenant, v_sequence, p_approval, p_state);
  RETURN v_sequence;
END $$;

-- Adds an event to a task that is about to be written.
CREATE FUNCTION append_event(t task, p_body jsonb) RETURNS task LANGUAGE plpgsql AS $$
BEGIN
  t.last_sequence := t.last_sequence + 1;
  INSERT INTO event (tenant_id, task_id, sequence, round, body)
    VALUES (t.tenant_id, t.id, t.last_sequence, t.round, p_body);
  RETURN t;
END $$;

-- Takes a task, as it is about to be written, into another state: its transition row, its event and, where the
-- state is terminal, the end of its approvals and the last event. Called by the functions below, under their row lock.
CREATE OR REPLACE FUNCTION enter_state(t task, p_to text, p_actor text, p_reason text, p_input text) RETURNS task
LANGUAGE plpgsql AS $$
DECLARE
  v_from text := t.state;
  v_approval record;
BEGIN
  t.state := p_to;
  IF p_to IN ('SUCCEEDED', 'FAILED', 'CANCELLED', 'WAITING_APPROVAL') THEN
    t.wall_ms_used := t.wall_ms_used + held_ms(t);
    t.held_since := NULL;
    t.lease_owner := NULL;
    t.lease_until := NULL;
  END IF;
  IF p_to IN ('SUCCEEDED', 'FAILED', 'CANCELLED') THEN
    FOR v_approval IN UPDATE approval a SET state = 'WITHDRAWN', decided_at = now(), decided_by = p_actor
        WHERE a.tenant_id = t.tenant_id AND a.task_id = t.id AND a.state = 'PENDING' RETURNING a.id, a.call_id LOOP
      PERFORM log_approval(t.tenant_id, v_approval.id, 'WITHDRAWN');
      t := append_event(t, jsonb_build_object('type', 'approval_decided', 'approvalId', v_approval.id,
        'callId', v_approval.call_id, 'outcome', 'withdrawn', 'actor', p_actor, 'comment', '', 'edited', false));
    END LOOP;
  END IF;
  t := append_event(t, jsonb_build_object('type', 'status_changed', 'from', v_from, 'to', p_to, 'actor', p_actor,
    'reason', p_reason, 'version', t.version));
  INSERT INTO transition (tenant_id, task_id, version, from_state, to_state, actor, reason, input_event, output_event)
    VALUES (t.tenant_id, t.id, t.version, v_from, p_to, p_actor, p_reason, p_input, t.last_sequence);
  IF p_to = 'RUNNING' THEN
    t.started_at := coalesce(t.started_at, now());
    t.ended_at := NULL;
  ELSIF p_to IN ('SUCCEEDED', 'FAILED', 'CANCELLED') THEN
    t.ended_at := now();
    IF p_to = 'CANCELLED' THEN
      t.failure_reason := 'CANCELLED';
      t.failure_message := format('Cancelled by %s in round %s%s', p_actor, t.round,
        CASE WHEN p_reason = '' THEN '.' ELSE ': ' || p_reason END);
    END IF;
    t := append_event(t, jsonb_build_object('type', 'task_completed', 'state', p_to,
      'answer', t.answer, 'failureReason', t.failure_reason, 'failureMessage', t.failure_message, 'rounds', t.round,
      'usage', jsonb_build_object('inputTokens', t.input_tokens, 'outputTokens', t.output_tokens,
        'cachedInputTokens', t.cached_input_tokens, 'reasoningTokens', t.reasoning_tokens,
        'costNanoUsd', t.cost_nano_usd)));
  END IF;
  RETURN t;
END $$;

-- Milliseconds since the last write that told how long the task is held. VOLATILE like the clock it reads: only so is it
-- inlined.
CREATE FUNCTION held_ms(t task) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(round(extract(epoch FROM clock_timestamp() - t.held_since) * 1000), 0)::bigint
$$;

-- Writes every column of a task that the functions below change. In plpgsql, as every function on the way of a commit
-- that is not inlined: a function in SQL is planned anew in each transaction, which costs more than the commit.
CREATE FUNCTION save_task(t task) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE task k SET state = t.state, round = t.round, max_rounds = t.max_rounds, workspace_id = t.workspace_id,
      version = t.version, last_sequence = t.last_sequence, answer = t.answer, failure_reason = t.failure_reason,
      failure_message = t.failure_message, cancel_requested_at = t.cancel_requested_at, cancel_actor = t.cancel_actor,
      cancel_reason = t.cancel_reason, input_tokens = t.input_tokens, output_tokens = t.output_tokens,
      cached_input_tokens = t.cached_input_tokens, reasoning_tokens = t.reasoning_tokens,
      cost_nano_usd = t.cost_nano_usd, lease_epoch = t.lease_epoch, lease_owner = t.lease_owner,
      lease_until = t.lease_until, next_run_at = t.next_run_at, started_at = t.started_at, ended_at = t.ended_at,
      max_wall_ms = t.max_wall_ms, max_tokens = t.max_tokens, max_cost_nano_usd = t.max_cost_nano_usd,
      max_tool_calls = t.max_tool_calls, max_output_tokens = t.max_output_tokens, wall_ms_used = t.wall_ms_used,
      held_since = t.held_since, tool_calls_used = t.tool_calls_used, idle_claims = t.idle_claims,
      reworks = t.reworks, resumes = t.resumes, verification = t.verification
    WHERE k.tenant_id = t.tenant_id AND k.id = t.id;
END $$;

-- Tasks of a tenant that wait for a worker.
CREATE FUNCTION queued_tasks(p_tenant text) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT count(*) FROM task k WHERE k.tenant_id = p_tenant
    AND k.state IN ('CREATED', 'PLANNING', 'RUNNING', 'VERIFYING') AND k.lease_owner IS NULL
$$;

-- Records a task with its first transition, event and step. Outcome 'created', 'existing' (the request id was used
-- with the same body), 'conflict' (with another one), 'full' (p_max_queued tasks of the tenant wait already) or 'busy'
-- (its conversation has a task that has not ended, and the policy is REJECT). `interrupted` are the tasks that were
-- told to stop for it.
DROP FUNCTION submit_task(text, text, text, jsonb);
CREATE FUNCTION submit_task(p_tenant text, p_method text, p_request_id text, p_body_hash text, p_task jsonb,
  p_max_queued integer)
RETURNS TABLE (outcome text, task_id uuid, interrupted uuid[]) LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
  t task;
  v_known request_id;
  v_other record;
  v_conversation uuid := (p_task->>'conversationId')::uuid;
  v_policy text := coalesce(p_task->>'conversationPolicy', 'QUEUE');
  v_budgets jsonb := coalesce(p_task->'budgets', '{}');
  v_interrupted uuid[] := '{}';
BEGIN
  PERFORM set_config('app.tenant', p_tenant, true);
  IF p_request_id <> '' THEN
    INSERT INTO request_id (tenant_id, method, request_id, body_hash, response_id)
      VALUES (p_tenant, p_method, p_request_id, p_body_hash, (p_task->>'id')::uuid) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      SELECT * INTO v_known FROM request_id r
        WHERE r.tenant_id = p_tenant AND r.method = p_method AND r.request_id = p_request_id;
      RETURN QUERY SELECT CASE WHEN v_known.body_hash = p_body_hash THEN 'existing' ELSE 'conflict' END,
        v_known.response_id, v_interrupted;
      RETURN;
    END IF;
  END IF;
  -- One at a time within a tenant, so that its limit and its conversations hold exactly.
  PERFORM pg_advisory_xact_lock(hashtextextended('submit ' || p_tenant, 0));
  IF queued_tasks(p_tenant) >= p_max_queued THEN
    DELETE FROM request_id r WHERE r.tenant_id = p_tenant AND r.method = p_method AND r.request_id = p_request_id;
    RETURN QUERY SELECT 'full', NULL::uuid, v_interrupted;
    RETURN;
  END IF;
  IF v_policy <> 'QUEUE' THEN
    FOR v_other IN SELECT k.id FROM task k WHERE k.tenant_id = p_tenant AND k.conversation_id = v_conversation
        AND k.state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED') LOOP
      IF v_policy = 'REJECT' THEN
        DELETE FROM request_id r WHERE r.tenant_id = p_tenant AND r.method = p_method AND r.request_id = p_request_id;
        RETURN QUERY SELECT 'busy', v_other.id, v_interrupted;
        RETURN;
      END IF;
      PERFORM cancel_task(p_tenant, v_other.id, p_task->>'createdBy', 'interrupted by a newer task', 0);
      v_interrupted := v_interrupted || v_other.id;
    END LOOP;
  END IF;
  INSERT INTO task (tenant_id, id, state, mode, prompt, model, collection, conversation_id, workspace_id, trace_id,
      created_by, max_rounds, version, agent, agent_body, priority, rerun_of, workspace_given, max_wall_ms, max_tokens,
      max_cost_nano_usd, max_tool_calls, max_output_tokens)
    VALUES (p_tenant, (p_task->>'id')::uuid, 'CREATED', p_task->>'mode', p_task->>'prompt', p_task->>'model',
      p_task->>'collection', v_conversation, (p_task->>'workspaceId')::uuid, p_task->>'traceId',
      p_task->>'createdBy', (p_task->>'maxRounds')::int, 1, coalesce(p_task->>'agent', ''),
      coalesce(p_task->'agentBody', '{}'), coalesce((p_task->>'priority')::smallint, 0), (p_task->>'rerunOf')::uuid,
      p_task->>'workspaceId' IS NOT NULL,
      coalesce((v_budgets->>'wallMs')::bigint, 0), coalesce((v_budgets->>'tokens')::bigint, 0),
      coalesce((v_budgets->>'costNanoUsd')::bigint, 0), coalesce((v_budgets->>'toolCalls')::int, 0),
      coalesce((v_budgets->>'outputTokens')::int, 0))
    RETURNING * INTO t;
  t.state := 'UNSPECIFIED';
  t := enter_state(t, 'CREATED', t.created_by, 'submitted', 'submitted');
  UPDATE task SET last_sequence = t.last_sequence WHERE tenant_id = p_tenant AND id = t.id;
  INSERT INTO step (tenant_id, task_id, seq, round, kind, body, epoch)
    VALUES (p_tenant, t.id, 1, 0, 'prompt', jsonb_build_object('text', t.prompt), 0);
  RETURN QUERY SELECT 'created', t.id, v_interrupted;
END $$;

-- Tasks that may be claimed now, the next first: tenants take turns, the one with the fewest running tasks first, none
-- with more than p_per_tenant. A task waits for the others of its conversation unless it has begun, and is nobody's
-- when it was claimed p_max_idle times without a single commit. The settings keep the plan to what the indexes are for,
-- whatever the statistics say of a table that fills and empties: the first few tasks of each tenant, in their order; such a
-- plan counts as dear, and must not be compiled for that.
CREATE FUNCTION claimable_tasks(p_limit integer, p_per_tenant integer, p_max_idle integer)
RETURNS TABLE (tenant_id text, task_id uuid) LANGUAGE sql STABLE
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
  WITH RECURSIVE tenants AS (
    (SELECT k.tenant_id FROM task k WHERE k.state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED') ORDER BY k.tenant_id LIMIT 1)
    UNION ALL
    SELECT (SELECT k.tenant_id FROM task k WHERE k.state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED')
        AND k.tenant_id > n.tenant_id ORDER BY k.tenant_id LIMIT 1)
      FROM tenants n WHERE n.tenant_id IS NOT NULL),
  held AS (
    SELECT k.tenant_id, count(*) AS running FROM task k
      WHERE k.lease_owner IS NOT NULL AND k.lease_until >= now() GROUP BY k.tenant_id),
  due AS (
    SELECT d.tenant_id, d.id, coalesce(h.running, 0) + d.place AS turn, d.priority, d.next_run_at
      FROM tenants n LEFT JOIN held h ON h.tenant_id = n.tenant_id CROSS JOIN LATERAL (
        SELECT k.tenant_id, k.id, k.priority, k.next_run_at,
            row_number() OVER (ORDER BY k.priority DESC, k.next_run_at, k.id) AS place
          FROM task k
          WHERE k.tenant_id = n.tenant_id AND k.state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED')
            AND (k.state <> 'WAITING_APPROVAL' OR k.cancel_requested_at IS NOT NULL)
            AND k.next_run_at <= now() AND (k.lease_until IS NULL OR k.lease_until < now())
            AND k.idle_claims < p_max_idle
            AND (k.started_at IS NOT NULL OR k.cancel_requested_at IS NOT NULL OR NOT EXISTS (
              SELECT FROM task o WHERE o.tenant_id = k.tenant_id AND o.conversation_id = k.conversation_id
                AND o.id <> k.id AND o.state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED')
                AND (o.started_at IS NOT NULL OR o.id < k.id)))
          ORDER BY k.priority DESC, k.next_run_at, k.id
          LIMIT least(p_limit, greatest(p_per_tenant - coalesce(h.running, 0), 0))) d)
  SELECT due.tenant_id, due.id FROM due ORDER BY due.turn, due.priority DESC, due.next_run_at, due.id LIMIT p_limit
$$;

-- Claims up to p_limit tasks. Claimers take turns only when there is something to claim, so that limits hold over all
-- replicas and an idle one holds up nobody.
CREATE FUNCTION claim_tasks(p_owner text, p_limit integer, p_ttl_ms integer, p_per_tenant integer, p_max_idle integer)
RETURNS TABLE (tenant_id text, task_id uuid, lease_epoch bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  IF NOT EXISTS (SELECT FROM claimable_tasks(1, p_per_tenant, p_max_idle)) THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('claim', 0));
  RETURN QUERY
  WITH chosen AS (
    SELECT k.tenant_id, k.id FROM task k JOIN claimable_tasks(p_limit, p_per_tenant, p_max_idle) c
        ON c.tenant_id = k.tenant_id AND c.task_id = k.id
      FOR UPDATE OF k SKIP LOCKED)
  UPDATE task k SET lease_epoch = k.lease_epoch + 1, attempt = k.attempt + 1, idle_claims = k.idle_claims + 1,
      lease_owner = p_owner, lease_until = now() + make_interval(secs => p_ttl_ms / 1000.0), held_since = now()
    FROM chosen WHERE k.tenant_id = chosen.tenant_id AND k.id = chosen.id
    RETURNING k.tenant_id, k.id, k.lease_epoch;
END $$;

-- Ends tasks that were claimed p_max_idle times in a row without a single commit as FAILED, or as CANCELLED where
-- somebody asked for that; a few at a time.
CREATE FUNCTION bury_tasks(p_max_idle integer) RETURNS TABLE (tenant_id text, task_id uuid, last_sequence bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t task;
BEGIN
  FOR t IN SELECT * FROM task k WHERE k.state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED') AND k.idle_claims >= p_max_idle
      AND k.next_run_at <= now() AND (k.lease_until IS NULL OR k.lease_until < now())
      LIMIT 16 FOR UPDATE SKIP LOCKED LOOP
    t.version := t.version + 1;
    t.lease_epoch := t.lease_epoch + 1;
    t.failure_reason := 'DEAD_LETTER';
    t.failure_message := format('%s workers in a row took the task up and did not get a single step done.', p_max_idle);
    IF t.cancel_requested_at IS NULL THEN
      t := enter_state(t, 'FAILED', 'claimer', 'DEAD_LETTER', 'claimed_in_vain');
    ELSE
      t := enter_state(t, 'CANCELLED', t.cancel_actor, t.cancel_reason, 'cancel_requested');
    END IF;
    PERFORM save_task(t);
    RETURN QUERY SELECT t.tenant_id, t.id, t.last_sequence;
  END LOOP;
END $$;

-- One commit of a worker. Outcome 'committed', 'fenced' (another owner, another version or an ended task: nothing
-- was written), 'cancelled' (a success that came after a cancel: nothing was written) or 'rules_changed' (the calls were
-- judged by another version of the tenant's rules than there is now: nothing was written).
DROP FUNCTION commit_task(text, uuid, bigint, bigint, jsonb);
CREATE FUNCTION commit_task(p_tenant text, p_task uuid, p_epoch bigint, p_version bigint, p_change jsonb)
RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
  t task;
  r record;
  v_to text := p_change->>'to';
  v_usage jsonb := p_change->'usage';
  v_events integer := coalesce(jsonb_array_length(p_change->'events'), 0);
  v_calls uuid[];
  v_count bigint;
  v_first bigint;
BEGIN
  PERFORM set_config('app.tenant', p_tenant, true);
  IF (p_change->>'rules')::bigint
      <> coalesce((SELECT v.version FROM policy_version v WHERE v.tenant_id = p_tenant), 0) THEN
    RETURN jsonb_build_object('outcome', 'rules_changed');
  END IF;
  -- Check, lock and write in one; no column of an index is among them.
  UPDATE task k SET
      version = k.version + 1,
      last_sequence = k.last_sequence + v_events,
      round = coalesce((p_change->>'round')::int, k.round),
      workspace_id = coalesce((p_change->>'workspaceId')::uuid, k.workspace_id),
      answer = coalesce(p_change->>'answer', k.answer),
      failure_reason = coalesce(p_change->>'failureReason', k.failure_reason),
      failure_message = coalesce(p_change->>'failureMessage', k.failure_message),
      verification = coalesce(p_change->'verification', k.verification),
      reworks = coalesce((p_change->>'reworks')::int, k.reworks),
      idle_claims = 0,
      wall_ms_used = k.wall_ms_used + held_ms(k),
      held_since = clock_timestamp(),
      tool_calls_used = k.tool_calls_used + coalesce((p_change->>'toolCalls')::int, 0),
      input_tokens = k.input_tokens + coalesce((v_usage->>'inputTokens')::bigint, 0),
      output_tokens = k.output_tokens + coalesce((v_usage->>'outputTokens')::bigint, 0),
      cached_input_tokens = k.cached_input_tokens + coalesce((v_usage->>'cachedInputTokens')::bigint, 0),
      reasoning_tokens = k.reasoning_tokens + coalesce((v_usage->>'reasoningTokens')::bigint, 0),
      cost_nano_usd = k.cost_nano_usd + CASE WHEN v_usage IS NULL THEN 0 ELSE (v_usage->>'costNanoUsd')::bigint END
    WHERE k.tenant_id = p_tenant AND k.id = p_task AND k.lease_epoch = p_epoch AND k.version = p_version
      AND k.state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED')
      AND (v_to IS DISTINCT FROM 'SUCCEEDED' OR k.cancel_requested_at IS NULL)
    RETURNING k.* INTO t;
  IF NOT FOUND THEN
    RETURN jsonb_build_object('outcome', CASE WHEN v_to = 'SUCCEEDED' AND EXISTS (SELECT FROM task k WHERE k.tenant_id = p_tenant
        AND k.id = p_task AND k.lease_epoch = p_epoch AND k.version = p_version
        AND k.state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED') AND k.cancel_requested_at IS NOT NULL)
      THEN 'cancelled' ELSE 'fenced' END);
  END IF;

  IF p_change ? 'steps' THEN
    INSERT INTO step (tenant_id, task_id, seq, round, kind, body, epoch)
      SELECT p_tenant, p_task, s.seq, s.round, s.kind, s.body, p_epoch
      FROM jsonb_to_recordset(p_change->'steps') AS s(seq bigint, round int, kind text, body jsonb);
  END IF;
  IF p_change ? 'intents' THEN
    INSERT INTO tool_call (tenant_id, task_id, call_id, step_seq, ordinal, provider_call_id, tool, arguments,
        arguments_hash, arguments_preview, state, policy_effect, policy_rule, allowed_commands, approval_id, epoch)
      SELECT p_tenant, p_task, c."callId", c."stepSeq", c.ordinal, c."providerCallId", c.tool, c.arguments,
        c."argumentsHash", c."argumentsPreview", CASE WHEN c.approval IS NULL THEN 'PROPOSED' ELSE 'AWAITING' END,
        c."policyEffect", c."policyRule", coalesce(c."allowedCommands", '[]'), (c.approval->>'id')::uuid, p_epoch
      FROM jsonb_to_recordset(p_change->'intents') AS c("callId" uuid, "stepSeq" bigint, ordinal int,
        "providerCallId" text, tool text, arguments text, "argumentsHash" text, "argumentsPreview" text,
        "policyEffect" text, "policyRule" text, "allowedCommands" jsonb, approval jsonb);
  END IF;
  IF p_change ? 'awaiting' THEN
    -- Calls that are there already and whose outcome is unknown: somebody must say how to go on.
    UPDATE tool_call c SET state = 'AWAITING', approval_id = a.id, epoch = p_epoch
      FROM jsonb_to_recordset(p_change->'awaiting') AS a("callId" uuid, id uuid)
      WHERE c.tenant_id = p_tenant AND c.task_id = p_task AND c.call_id = a."callId"
        AND c.state IN ('PROPOSED', 'APPROVED', 'DISPATCHED');
  END IF;
  IF p_change ? 'approvals' THEN
    -- The number comes first and in one piece, so that the log has no gap.
    INSERT INTO approval_sequence (tenant_id, last) VALUES (p_tenant, jsonb_array_length(p_change->'approvals'))
      ON CONFLICT (tenant_id) DO UPDATE
        SET last = approval_sequence.last + jsonb_array_length(p_change->'approvals') RETURNING last INTO v_count;
    v_first := v_count - jsonb_array_length(p_change->'approvals');
    INSERT INTO approval (tenant_id, id, task_id, call_id, tool, arguments_preview, arguments_hash, state, rule, reason,
        approver_not_requester, requested_by, expires_at, sequence)
      SELECT p_tenant, (a->>'id')::uuid, p_task, (a->>'callId')::uuid, a->>'tool', a->>'argumentsPreview',
        a->>'argumentsHash', 'PENDING', a->>'rule', a->>'reason', (a->>'approverNotRequester')::boolean, t.created_by,
        now() + make_interval(secs => (a->>'expiresMs')::bigint / 1000.0), v_first + n
      FROM jsonb_array_elements(p_change->'approvals') WITH ORDINALITY AS x(a, n);
    INSERT INTO approval_change (tenant_id, sequence, approval_id, state)
      SELECT p_tenant, v_first + n, (a->>'id')::uuid, 'PENDING'
      FROM jsonb_array_elements(p_change->'approvals') WITH ORDINALITY AS x(a, n);
  END IF;
  IF p_change ? 'dispatched' THEN
    v_calls := ARRAY(SELECT d::uuid FROM jsonb_array_elements_text(p_change->'dispatched') d);
    UPDATE tool_call c SET state = 'DISPATCHED', epoch = p_epoch, dispatched_at = coalesce(c.dispatched_at, now())
      WHERE c.tenant_id = p_tenant AND c.call_id = ANY(v_calls) AND c.task_id = p_task
        AND c.state IN ('PROPOSED', 'APPROVED', 'DISPATCHED');
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF v_count <> jsonb_array_length(p_change->'dispatched') THEN
      RAISE EXCEPTION 'Only calls without a result can be dispatched.' USING ERRCODE = 'check_violation';
    END IF;
  END IF;
  IF p_change ? 'results' THEN
    -- One by one, each by its key: a join would read all calls of the task, more in every round.
    FOR r IN SELECT * FROM jsonb_to_recordset(p_change->'results') AS x("callId" uuid, state text, shown text,
        summary text, "errorCode" text, retryable boolean, artifacts jsonb, "resultCharacters" bigint,
        "shownCharacters" bigint, "spillPointer" text, "durationMs" bigint) LOOP
      UPDATE tool_call c SET state = r.state, epoch = p_epoch, ended_at = now(), shown = r.shown, summary = r.summary,
          error_code = r."errorCode", retryable = r.retryable, artifacts = r.artifacts,
          result_characters = r."resultCharacters", shown_characters = r."shownCharacters",
          spill_pointer = r."spillPointer", duration_ms = r."durationMs"
        WHERE c.tenant_id = p_tenant AND c.call_id = r."callId" AND c.task_id = p_task
          AND c.state IN ('PROPOSED', 'AWAITING', 'APPROVED', 'DISPATCHED');
      IF NOT FOUND THEN
        RAISE EXCEPTION 'A call gets one result.' USING ERRCODE = 'check_violation';
      END IF;
    END LOOP;
  END IF;
  IF v_events > 0 THEN
    INSERT INTO event (tenant_id, task_id, sequence, round, body)
      SELECT p_tenant, p_task, t.last_sequence - v_events + e.ordinal, t.round, e.body
      FROM jsonb_array_elements(p_change->'events') WITH ORDINALITY AS e(body, ordinal);
  END IF;
  IF v_to IS NOT NULL THEN
    IF v_to = 'CANCELLED' THEN
      t := enter_state(t, v_to, t.cancel_actor, t.cancel_reason, 'cancel_requested');
    ELSE
      t := enter_state(t, v_to, p_change->>'actor', p_change->>'reason', p_change->>'input');
    END IF;
    -- Nobody holds a task that waits; what its worker still writes is fenced off.
    IF v_to = 'WAITING_APPROVAL' THEN t.lease_epoch := t.lease_epoch + 1; END IF;
    PERFORM save_task(t);
  END IF;
  RETURN jsonb_build_object('outcome', 'committed', 'version', t.version, 'lastSequence', t.last_sequence,
    'cancelRequested', t.cancel_requested_at IS NOT NULL, 'wallMsUsed', t.wall_ms_used);
END $$;

-- Records a wish to cancel. Nobody at work and no call open: the task is CANCELLED here and now; otherwise its owner,
-- or the next one, ends it when its work has stopped. Outcome 'cancelled', 'requested', 'ended', 'stale' (it has
-- another version than p_expected; 0 is any) or 'not_found'.
DROP FUNCTION cancel_task(text, uuid, text, text);
CREATE FUNCTION cancel_task(p_tenant text, p_task uuid, p_actor text, p_reason text, p_expected bigint)
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
  IF p_expected <> 0 AND p_expected <> t.version THEN
    RETURN QUERY SELECT 'stale', t.version;
    RETURN;
  END IF;
  IF t.cancel_requested_at IS NULL THEN
    t.cancel_requested_at := now();
    t.cancel_actor := p_actor;
    t.cancel_reason := p_reason;
  END IF;
  IF coalesce(t.lease_until > now(), false) OR EXISTS (SELECT FROM tool_call c WHERE c.tenant_id = p_tenant
      AND c.task_id = p_task AND c.state IN ('PROPOSED', 'AWAITING', 'APPROVED', 'DISPATCHED')) THEN
    t.next_run_at := now();
    PERFORM save_task(t);
    RETURN QUERY SELECT 'requested', t.last_sequence;
    RETURN;
  END IF;
  t.version := t.version + 1;
  t.lease_epoch := t.lease_epoch + 1;
  t := enter_state(t, 'CANCELLED', t.cancel_actor, t.cancel_reason, 'cancel_requested');
  PERFORM save_task(t);
  RETURN QUERY SELECT 'cancelled', t.last_sequence;
END $$;

-- Keeps a claimed task for another p_ttl_ms. No row: the authority is lost.
DROP FUNCTION renew_lease(text, uuid, bigint, integer);
CREATE FUNCTION renew_lease(p_tenant text, p_task uuid, p_epoch bigint, p_ttl_ms integer)
RETURNS TABLE (cancel_requested boolean, wall_ms_used bigint) LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
  PERFORM set_config('app.tenant', p_tenant, true);
  RETURN QUERY UPDATE task k SET lease_until = now() + make_interval(secs => p_ttl_ms / 1000.0),
      wall_ms_used = k.wall_ms_used + held_ms(k), held_since = clock_timestamp()
    WHERE k.tenant_id = p_tenant AND k.id = p_task AND k.lease_epoch = p_epoch
      AND k.state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED')
    RETURNING k.cancel_requested_at IS NOT NULL, k.wall_ms_used;
END $$;

-- Gives a claimed task back, to be claimed again after p_delay_ms. The epoch grows, so that the giver cannot write on;
-- what was handed over in order does not count as a claim in vain.
DROP FUNCTION release_lease(text, uuid, bigint, integer);
CREATE FUNCTION release_lease(p_tenant text, p_task uuid, p_epoch bigint, p_delay_ms integer)
RETURNS TABLE (released boolean) LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  PERFORM set_config('app.tenant', p_tenant, true);
  RETURN QUERY UPDATE task k SET lease_owner = NULL, lease_until = NULL, lease_epoch = k.lease_epoch + 1,
      wall_ms_used = k.wall_ms_used + held_ms(k), held_since = NULL,
      idle_claims = CASE WHEN p_delay_ms = 0 THEN greatest(k.idle_claims - 1, 0) ELSE k.idle_claims END,
      next_run_at = now() + make_interval(secs => p_delay_ms / 1000.0)
    WHERE k.tenant_id = p_tenant AND k.id = p_task AND k.lease_epoch = p_epoch
      AND k.state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED')
    RETURNING true;
END $$;

-- Goes on with a task that has ended without success. Outcome 'resumed', 'existing', 'conflict' (request id), 'not_found',
-- 'running', 'succeeded', 'stale' (another version), 'busy' (its conversation has another task that has not ended) or
-- 'full' (p_max_queued tasks of the tenant wait already).
CREATE FUNCTION resume_task(p_tenant text, p_task uuid, p_actor text, p_expected bigint, p_budgets jsonb,
  p_request_id text, p_body_hash text, p_max_queued integer)
RETURNS TABLE (outcome text, last_sequence bigint) LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
  t task;
  v_known request_id;
  v_newest step;
BEGIN
  PERFORM set_config('app.tenant', p_tenant, true);
  -- Before the row, as submit_task does.
  PERFORM pg_advisory_xact_lock(hashtextextended('submit ' || p_tenant, 0));
  SELECT * INTO t FROM task k WHERE k.tenant_id = p_tenant AND k.id = p_task FOR UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'not_found', 0::bigint;
    RETURN;
  END IF;
  IF p_request_id <> '' THEN
    SELECT * INTO v_known FROM request_id r
      WHERE r.tenant_id = p_tenant AND r.method = 'ResumeTask' AND r.request_id = p_request_id;
    IF FOUND THEN
      RETURN QUERY SELECT CASE WHEN v_known.body_hash = p_body_hash THEN 'existing' ELSE 'conflict' END,
        t.last_sequence;
      RETURN;
    END IF;
  END IF;
  IF t.state NOT IN ('FAILED', 'CANCELLED') THEN
    RETURN QUERY SELECT CASE t.state WHEN 'SUCCEEDED' THEN 'succeeded' ELSE 'running' END, t.last_sequence;
    RETURN;
  END IF;
  IF p_expected <> 0 AND p_expected <> t.version THEN
    RETURN QUERY SELECT 'stale', t.version;
    RETURN;
  END IF;
  IF EXISTS (SELECT FROM task o WHERE o.tenant_id = p_tenant AND o.conversation_id = t.conversation_id AND o.id <> t.id
      AND o.state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED')) THEN
    RETURN QUERY SELECT 'busy', t.last_sequence;
    RETURN;
  END IF;
  IF queued_tasks(p_tenant) >= p_max_queued THEN
    RETURN QUERY SELECT 'full', t.last_sequence;
    RETURN;
  END IF;
  IF p_request_id <> '' THEN
    INSERT INTO request_id (tenant_id, method, request_id, body_hash, response_id)
      VALUES (p_tenant, 'ResumeTask', p_request_id, p_body_hash, p_task);
  END IF;
  t.version := t.version + 1;
  t.lease_epoch := t.lease_epoch + 1;
  t.resumes := t.resumes + 1;
  t.idle_claims := 0;
  t.reworks := 0;
  t.cancel_requested_at := NULL;
  t.cancel_actor := '';
  t.cancel_reason := '';
  t.failure_reason := '';
  t.failure_message := '';
  t.next_run_at := now();
  t.max_rounds := coalesce(nullif((p_budgets->>'rounds')::int, 0), t.max_rounds);
  t.max_wall_ms := coalesce(nullif((p_budgets->>'wallMs')::bigint, 0), t.max_wall_ms);
  t.max_tokens := coalesce(nullif((p_budgets->>'tokens')::bigint, 0), t.max_tokens);
  t.max_cost_nano_usd := coalesce(nullif((p_budgets->>'costNanoUsd')::bigint, 0), t.max_cost_nano_usd);
  t.max_tool_calls := coalesce(nullif((p_budgets->>'toolCalls')::int, 0), t.max_tool_calls);
  t.max_output_tokens := coalesce(nullif((p_budgets->>'outputTokens')::int, 0), t.max_output_tokens);
  -- A turn that led nowhere is not the last word: the model is told to go on. After an answer that did not pass, the
  -- findings of its check tell it what to do.
  SELECT * INTO v_newest FROM step s WHERE s.tenant_id = p_tenant AND s.task_id = p_task ORDER BY s.seq DESC LIMIT 1;
  IF v_newest.kind = 'turn' AND v_newest.body->>'decision' <> 'final' AND NOT EXISTS (SELECT FROM tool_call c
      WHERE c.tenant_id = p_tenant AND c.task_id = p_task AND c.step_seq = v_newest.seq) THEN
    INSERT INTO step (tenant_id, task_id, seq, round, kind, body, epoch)
      VALUES (p_tenant, p_task, v_newest.seq + 1, t.round, 'nudge', jsonb_build_object('text',
        'The task was resumed after your last turn had led nowhere. Go on with it.'), t.lease_epoch);
  END IF;
  t := enter_state(t, 'RUNNING', p_actor, 'resumed', 'resume_requested');
  -- An answer that is there is not asked for again: its check goes on.
  IF (v_newest.kind = 'turn' AND v_newest.body->>'decision' = 'final')
      OR (v_newest.kind = 'verification' AND (v_newest.body->'report'->>'passed')::boolean) THEN
    t.version := t.version + 1;
    t := enter_state(t, 'VERIFYING', p_actor, 'resumed', 'resume_requested');
  END IF;
  PERFORM save_task(t);
  RETURN QUERY SELECT 'resumed', t.last_sequence;
END $$;

-- Ends one pending approval of a task that is locked and about to be written.
CREATE FUNCTION settle_approval(t task, a approval, p_state text, p_actor text, p_comment text, p_edited text,
  p_edited_hash text, p_edited_preview text) RETURNS task LANGUAGE plpgsql AS $$
DECLARE
  v_text text;
  v_code text;
BEGIN
  UPDATE approval SET state = p_state, decided_by = p_actor, decided_at = now(), comment = p_comment,
      edited_hash = p_edited_hash
    WHERE tenant_id = t.tenant_id AND id = a.id;
  PERFORM log_approval(t.tenant_id, a.id, p_state);
  t := append_event(t, jsonb_build_object('type', 'approval_decided', 'approvalId', a.id, 'callId', a.call_id,
    'outcome', lower(p_state), 'actor', p_actor, 'comment', p_comment, 'edited', p_edited_hash <> ''));
  IF p_state = 'APPROVED' THEN
    UPDATE tool_call c SET state = 'APPROVED',
        arguments = CASE WHEN p_edited_hash = '' THEN c.arguments ELSE p_edited END,
        arguments_hash = CASE WHEN p_edited_hash = '' THEN c.arguments_hash ELSE p_edited_hash END,
        arguments_preview = CASE WHEN p_edited_hash = '' THEN c.arguments_preview ELSE p_edited_preview END
      WHERE c.tenant_id = t.tenant_id AND c.call_id = a.call_id AND c.state = 'AWAITING';
    RETURN t;
  END IF;
  v_code := CASE WHEN a.rule = '' THEN 'OUTCOME_UNKNOWN' WHEN p_state = 'EXPIRED' THEN 'APPROVAL_EXPIRED' ELSE 'DENIED' END;
  v_text := CASE WHEN p_state = 'EXPIRED' THEN 'Nobody approved this call in time; it was not run'
    ELSE format('%s denied this call; it was not run', p_actor) END;
  IF a.rule = '' THEN
    v_text := 'The call was sent before an interruption and its outcome is not known; it was not sent again';
  END IF;
  v_text := v_text || CASE WHEN p_comment = '' THEN '.' ELSE ': ' || p_comment END;
  UPDATE tool_call c SET state = CASE WHEN a.rule = '' THEN 'UNKNOWN' ELSE 'DENIED' END, ended_at = now(),
      summary = v_text, shown = format('ERROR %s: %s', v_code, v_text), error_code = v_code,
      result_characters = length(v_text), shown_characters = length(v_text)
    WHERE c.tenant_id = t.tenant_id AND c.call_id = a.call_id AND c.state = 'AWAITING';
  RETURN append_event(t, jsonb_build_object('type', 'tool_call_completed', 'callId', a.call_id, 'tool', a.tool,
    'state', CASE WHEN a.rule = '' THEN 'UNKNOWN' ELSE 'DENIED' END, 'summary', v_text, 'errorCode', v_code,
    'durationMs', 0, 'resultCharacters', length(v_text), 'shownCharacters', length(v_text), 'spillPointer', ''));
END $$;

-- A task whose last pending approval was settled goes on.
CREATE FUNCTION settle_task(t task, p_actor text, p_reason text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  t.version := t.version + 1;
  IF t.state = 'WAITING_APPROVAL' AND NOT EXISTS (SELECT FROM approval a WHERE a.tenant_id = t.tenant_id
      AND a.task_id = t.id AND a.state = 'PENDING') THEN
    t := enter_state(t, 'RUNNING', p_actor, p_reason, 'approvals_decided');
    t.next_run_at := now();
  END IF;
  PERFORM save_task(t);
END $$;

-- Decides one approval. Outcome 'decided', 'repeated' (the same decision was made before), 'taken' (another one was),
-- 'not_found', 'changed' (other arguments than p_hash), 'expired' or 'self' (the requester may not decide).
CREATE FUNCTION decide_approval(p_tenant text, p_approval uuid, p_state text, p_hash text, p_actor text,
  p_comment text, p_edited text, p_edited_hash text, p_edited_preview text)
RETURNS TABLE (outcome text, task_id uuid, last_sequence bigint, sequence bigint) LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
  t task;
  a approval;
  v_outcome text;
BEGIN
  PERFORM set_config('app.tenant', p_tenant, true);
  SELECT k.* INTO t FROM task k JOIN approval x ON x.tenant_id = k.tenant_id AND x.task_id = k.id
    WHERE x.tenant_id = p_tenant AND x.id = p_approval FOR UPDATE OF k;
  SELECT * INTO a FROM approval x WHERE x.tenant_id = p_tenant AND x.id = p_approval;
  v_outcome := CASE
    WHEN a.id IS NULL THEN 'not_found'
    WHEN a.state = p_state AND a.arguments_hash = p_hash AND a.edited_hash = p_edited_hash THEN 'repeated'
    WHEN a.state = 'EXPIRED' THEN 'expired'
    WHEN a.state <> 'PENDING' THEN 'taken'
    WHEN a.arguments_hash <> p_hash THEN 'changed'
    WHEN a.expires_at <= now() THEN 'expired'
    WHEN a.approver_not_requester AND a.requested_by = p_actor THEN 'self'
    ELSE 'decided' END;
  IF v_outcome = 'decided' THEN
    t := settle_approval(t, a, p_state, p_actor, p_comment, p_edited, p_edited_hash, p_edited_preview);
    PERFORM settle_task(t, p_actor, lower(p_state));
    SELECT * INTO t FROM task k WHERE k.tenant_id = p_tenant AND k.id = t.id;
    SELECT * INTO a FROM approval x WHERE x.tenant_id = p_tenant AND x.id = p_approval;
  END IF;
  RETURN QUERY SELECT v_outcome, t.id, coalesce(t.last_sequence, 0), coalesce(a.sequence, 0);
END $$;

-- Denies what nobody decided in time, of all tenants, a few at a time; the tasks that were told of it.
CREATE FUNCTION expire_approvals() RETURNS TABLE (tenant_id text, task_id uuid, last_sequence bigint, sequence bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  t task;
  a approval;
BEGIN
  FOR t IN SELECT * FROM task k WHERE (k.tenant_id, k.id) IN (SELECT x.tenant_id, x.task_id FROM approval x
      WHERE x.state = 'PENDING' AND x.expires_at <= now() ORDER BY x.expires_at LIMIT 100) FOR UPDATE SKIP LOCKED LOOP
    FOR a IN SELECT * FROM approval x WHERE x.tenant_id = t.tenant_id AND x.task_id = t.id AND x.state = 'PENDING'
        AND x.expires_at <= now() ORDER BY x.sequence LOOP
      t := settle_approval(t, a, 'EXPIRED', 'expiry', '', '', '', '');
    END LOOP;
    PERFORM settle_task(t, 'expiry', 'expired');
    RETURN QUERY SELECT k.tenant_id, k.id, k.last_sequence, s.last FROM task k JOIN approval_sequence s
      ON s.tenant_id = k.tenant_id WHERE k.tenant_id = t.tenant_id AND k.id = t.id;
  END LOOP;
END $$;

-- Removes what is older than p_days days, at most p_limit rows of each kind: tasks that have ended, events of those that
-- live (not the newest), request ids. How many rows went.
CREATE FUNCTION expire_tasks(p_days integer, p_limit integer) RETURNS TABLE (removed bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_before timestamptz := now() - make_interval(days => p_days);
  v_removed bigint := 0;
  v_count bigint;
BEGIN
  WITH old AS (
    SELECT e.tenant_id, e.task_id, e.sequence FROM task k JOIN event e ON e.tenant_id = k.tenant_id AND e.task_id = k.id
      WHERE k.state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED') AND k.created_at < v_before
        AND e.at < v_before AND e.sequence < k.last_sequence
      ORDER BY e.tenant_id, e.task_id, e.sequence LIMIT p_limit),
  newest AS (SELECT old.tenant_id, old.task_id, max(old.sequence) AS sequence FROM old GROUP BY 1, 2),
  -- What a watcher may still ask for is known before it is gone.
  told AS (UPDATE task k SET first_sequence = n.sequence + 1 FROM newest n
    WHERE k.tenant_id = n.tenant_id AND k.id = n.task_id RETURNING 1)
  DELETE FROM event e USING newest n WHERE e.tenant_id = n.tenant_id AND e.task_id = n.task_id
    AND e.sequence <= n.sequence;
  GET DIAGNOSTICS v_removed = ROW_COUNT;
  DELETE FROM request_id r WHERE (r.tenant_id, r.method, r.request_id) IN (
    SELECT x.tenant_id, x.method, x.request_id FROM request_id x WHERE x.created_at < v_before LIMIT p_limit);
  GET DIAGNOSTICS v_count = ROW_COUNT;
  v_removed := v_removed + v_count;
  DELETE FROM task k WHERE (k.tenant_id, k.id) IN (SELECT x.tenant_id, x.id FROM task x
    WHERE x.state IN ('SUCCEEDED', 'FAILED', 'CANCELLED') AND x.ended_at < v_before ORDER BY x.ended_at LIMIT p_limit);
  GET DIAGNOSTICS v_count = ROW_COUNT;
  RETURN QUERY SELECT v_removed + v_count;
END $$;
