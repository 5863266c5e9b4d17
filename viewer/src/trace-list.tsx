import type { TraceSummary } from "@drover/proto/trace/v1/trace";
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { isSignedOut, messageOf, traces } from "./api.ts";
import { ago, cost, count, duration, shortCount, word } from "./format.ts";
import { followLink } from "./location.ts";
import { Notice } from "./notice.tsx";
import { type Session, sessionEnded, signOut } from "./session.ts";
import { millisecondsOf } from "./span-view.ts";
import { StateChip } from "./state-chip.tsx";

const refreshMs = 3_000;

/** All traces of the tenant, newest first; the first page keeps itself up to date. */
export function TraceList({ session }: { readonly session: Session }) {
  const list = useTraces();
  return (
    <div class="page">
      <header class="top">
        <div class="title">
          <div class="crumb">{session.tenantId}</div>
          <h1>Traces</h1>
        </div>
        <div class="numbers">
          <span>{session.subject}</span>
        </div>
        <button type="button" data-testid="sign-out" onClick={() => void signOut()}>
          Sign out
        </button>
      </header>
      {list.problem === "" ? null : (
        <div class="banner" role="status" data-testid="banner-disconnected">
          {list.problem} Trying again.
        </div>
      )}
      <main class="list">
        <TraceTable list={list} />
      </main>
    </div>
  );
}

function TraceTable({ list }: { readonly list: ReturnType<typeof useTraces> }) {
  if (list.rows === undefined) return <Notice state="loading" title="Loading traces" />;
  if (list.rows.length === 0) {
    return (
      <Notice state="empty" title="No trace yet" hint="Run a task and it appears here while it works.">
        <code>drover run "Hello"</code>
      </Notice>
    );
  }
  return (
    <>
      <table data-testid="trace-list">
        <thead>
          <tr>
            <th>Task</th>
            <th>State</th>
            <th class="num">Started</th>
            <th class="num">Took</th>
            <th class="num">Spans</th>
            <th class="num">Errors</th>
            <th class="num">Tokens</th>
            <th class="num">Cost</th>
          </tr>
        </thead>
        <tbody>
          {list.rows.map((trace) => (
            <TraceRow key={trace.traceId} trace={trace} />
          ))}
        </tbody>
      </table>
      {list.next === "" ? null : (
        <button type="button" data-testid="load-more" onClick={() => void list.more()}>
          Older traces
        </button>
      )}
    </>
  );
}

function TraceRow({ trace }: { readonly trace: TraceSummary }) {
  const startMs = millisecondsOf(trace.startNs);
  const tokens = Number((trace.usage?.inputTokens ?? 0n) + (trace.usage?.outputTokens ?? 0n));
  const nanoUsd = trace.usage?.costNanoUsd;
  return (
    <tr data-testid="trace-row" data-trace-id={trace.traceId}>
      <td class="name">
        <a href={`/t/${trace.traceId}`} onClick={followLink}>
          {trace.name === "" ? trace.traceId : trace.name}
        </a>
      </td>
      <td>
        <StateChip {...stateOf(trace)} />
      </td>
      <td class="num" title={new Date(startMs).toISOString()}>
        {ago(startMs, Date.now())}
      </td>
      <td class="num">{trace.running ? "" : duration(millisecondsOf(trace.endNs) - startMs)}</td>
      <td class="num">{count(trace.spanCount)}</td>
      <td class={trace.errorCount > 0 ? "num error" : "num"}>{trace.errorCount > 0 ? count(trace.errorCount) : ""}</td>
      <td class="num">{tokens > 0 ? shortCount(tokens) : ""}</td>
      <td class="num">{nanoUsd === undefined ? "" : cost(nanoUsd)}</td>
    </tr>
  );
}

function stateOf(trace: TraceSummary) {
  if (trace.running) return { state: "running", tone: "running" as const };
  if (trace.taskState === "SUCCEEDED") return { state: "succeeded", tone: "succeeded" as const };
  if (trace.taskState === "FAILED") return { state: "failed", tone: "failed" as const };
  return { state: trace.taskState === "" ? "ended" : word(trace.taskState), tone: "ended" as const };
}

function useTraces() {
  const first = useSignal<readonly TraceSummary[] | undefined>(undefined);
  const older = useSignal<readonly TraceSummary[]>([]);
  const next = useSignal("");
  const problem = useSignal("");
  const load = async (pageToken: string, signal?: AbortSignal) => {
    const page = await traces.listTraces({ pageToken }, signal === undefined ? {} : { signal });
    problem.value = "";
    return page;
  };
  const failed = (error: unknown) => {
    if (isSignedOut(error)) sessionEnded();
    else problem.value = messageOf(error);
  };
  useEffect(() => {
    document.title = "Traces · Drover";
    const leaving = new AbortController();
    const refresh = async () => {
      if (document.hidden && first.value !== undefined) return;
      const page = await load("", leaving.signal);
      first.value = page.traces;
      if (older.value.length === 0) next.value = page.nextPageToken;
    };
    const again = () => void refresh().catch((error) => leaving.signal.aborted || failed(error));
    again();
    const timer = setInterval(again, refreshMs);
    return () => {
      clearInterval(timer);
      leaving.abort();
    };
  }, []);
  const more = async () => {
    try {
      const page = await load(next.value);
      older.value = [...older.value, ...page.traces];
      next.value = page.nextPageToken;
    } catch (error) {
      failed(error);
    }
  };
  const known = new Set(first.value?.map(({ traceId }) => traceId));
  const rows = first.value && [...first.value, ...older.value.filter(({ traceId }) => !known.has(traceId))];
  return { rows, next: next.value, problem: problem.value, more };
}
