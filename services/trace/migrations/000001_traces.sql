-- One row a trace: what the list of traces shows, kept up in the same transaction as the spans.
CREATE TABLE trace (
  tenant_id      text        NOT NULL,
  trace_id       text        NOT NULL,
  revision       bigint      NOT NULL DEFAULT 0,
  -- The span that names the trace, as the service's TraceHead.
  head           jsonb,
  task_id        text        NOT NULL DEFAULT '',
  start_ns       bigint      NOT NULL DEFAULT 0,
  ended_ns       bigint      NOT NULL DEFAULT 0,
  forced_ns      bigint      NOT NULL DEFAULT 0,
  span_count     integer     NOT NULL DEFAULT 0,
  open_count     integer     NOT NULL DEFAULT 0,
  forced_count   integer     NOT NULL DEFAULT 0,
  error_count    integer     NOT NULL DEFAULT 0,
  usage          jsonb       NOT NULL DEFAULT '{}',
  dropped        jsonb       NOT NULL DEFAULT '{}',
  -- When the revision last grew.
  changed_at     timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, trace_id)
);
CREATE INDEX trace_newest ON trace (tenant_id, start_ns DESC, trace_id DESC);
CREATE INDEX trace_of_task ON trace (tenant_id, task_id) WHERE task_id <> '';
CREATE INDEX trace_changed ON trace (changed_at);

-- The skeleton. Parts that no record has brought yet are null.
CREATE TABLE span (
  tenant_id          text        NOT NULL,
  trace_id           text        NOT NULL,
  span_id            text        NOT NULL,
  state              smallint    NOT NULL,
  start_ns           bigint      NOT NULL,
  parent_span_id     text,
  name               text,
  kind               text,
  service            text,
  task_id            text,
  sequence           bigint,
  started_attributes jsonb,
  forced_ns          bigint,
  forced_reason      text,
  ended_ns           bigint,
  error              text,
  ended_attributes   jsonb,
  -- Revision of the trace in which the span, one of its events or a payload last changed.
  revision           bigint      NOT NULL,
  -- When a producer last spoke of the span.
  seen_at            timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, trace_id, span_id),
  FOREIGN KEY (tenant_id, trace_id) REFERENCES trace ON DELETE CASCADE
);
CREATE INDEX span_changes ON span (tenant_id, trace_id, revision, span_id);
CREATE INDEX span_open ON span (seen_at) WHERE state < 3;

CREATE TABLE span_event (
  tenant_id  text     NOT NULL,
  trace_id   text     NOT NULL,
  span_id    text     NOT NULL,
  ordinal    bigint   NOT NULL,
  time_ns    bigint   NOT NULL,
  kind       text     NOT NULL,
  text       text     NOT NULL,
  attributes jsonb    NOT NULL,
  PRIMARY KEY (tenant_id, trace_id, span_id, ordinal)
);

-- Apart from the skeleton, so that a large trace can be drawn without them.
CREATE TABLE span_payload (
  tenant_id        text   NOT NULL,
  trace_id         text   NOT NULL,
  span_id          text   NOT NULL,
  slot             text   NOT NULL,
  text             text   NOT NULL,
  total_characters bigint NOT NULL,
  PRIMARY KEY (tenant_id, trace_id, span_id, slot)
);

ALTER TABLE trace ENABLE ROW LEVEL SECURITY;
ALTER TABLE trace FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON trace
  USING (tenant_id = current_setting('app.tenant', true)) WITH CHECK (tenant_id = current_setting('app.tenant', true));
ALTER TABLE span ENABLE ROW LEVEL SECURITY;
ALTER TABLE span FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON span
  USING (tenant_id = current_setting('app.tenant', true)) WITH CHECK (tenant_id = current_setting('app.tenant', true));
ALTER TABLE span_event ENABLE ROW LEVEL SECURITY;
ALTER TABLE span_event FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON span_event
  USING (tenant_id = current_setting('app.tenant', true)) WITH CHECK (tenant_id = current_setting('app.tenant', true));
ALTER TABLE span_payload ENABLE ROW LEVEL SECURITY;
ALTER TABLE span_payload FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON span_payload
  USING (tenant_id = current_setting('app.tenant', true)) WITH CHECK (tenant_id = current_setting('app.tenant', true));
