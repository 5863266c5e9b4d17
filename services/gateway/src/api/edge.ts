import type { Transport } from "@connectrpc/connect";
import type { IdentityMinter } from "@drover/rpc";
import type { Logger, Metrics } from "@drover/runtime";
import type { Sessions } from "../application/sessions.ts";
import { ActiveCalls } from "./active-calls.ts";
import { admittedServices, type Target } from "./admission.ts";
import { createApprovalEvents } from "./approval-events.ts";
import type { Credentials } from "./credentials.ts";
import { createEdgeHealth } from "./edge-health.ts";
import { type FrontDoor, type FrontDoorLimits, openFrontDoor } from "./front-door.ts";
import { createGrpcCopy, type DeadlineLimits, type UpstreamSessions } from "./grpc-copy.ts";
import { createHttpRoutes } from "./http-routes.ts";
import { createSessionRoutes } from "./session-routes.ts";
import { createTaskEvents } from "./task-events.ts";
import { createTranslator } from "./translator.ts";
import { createViewerFiles, type ViewerFiles } from "./viewer-files.ts";

/** What the edge is made of. */
export interface EdgeParts {
  readonly listen: string;
  readonly limits: FrontDoorLimits & DeadlineLimits;
  readonly maxMessageBytes: number;
  readonly graceMs: number;
  readonly sse: { readonly heartbeatMs: number; readonly stallMs: number };
  readonly secureCookie: boolean;
  readonly credentials: Credentials;
  readonly sessions: Sessions;
  readonly minter: IdentityMinter;
  readonly upstreams: Readonly<Record<Target, UpstreamSessions>>;
  readonly transports: Readonly<Record<Target, Transport>>;
  readonly viewerFiles: ViewerFiles;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** The edge, listening. Disposing drains it: no new work, watches end at once, the rest within the grace. */
export interface Edge extends AsyncDisposable {
  readonly address: string;
}

/** Composes all that the one port answers and opens it, serving. */
export async function openEdge(parts: EdgeParts): Promise<Edge> {
  const { credentials, sessions, minter, transports, limits, logger } = parts;
  const calls = new ActiveCalls();
  const health = createEdgeHealth();
  const onEnd = callObserver(parts.metrics, calls);
  const translate = createTranslator({ ...parts, calls, health });
  const session = createSessionRoutes({ sessions, credentials, secureCookie: parts.secureCookie });
  const events = { credentials, orchestrator: transports.orchestrator, calls, ...parts.sse };
  const [taskEvents, approvalEvents] = [createTaskEvents(events), createApprovalEvents(events)];
  const viewer = createViewerFiles(parts.viewerFiles);
  const onFault = (error: unknown) => logger.error({ err: error }, "a request failed");
  const door = await openFrontDoor(parts.listen, limits, {
    grpc: createGrpcCopy({ credentials, minter, upstreams: parts.upstreams, calls, limits, onEnd }),
    isCopied: (path) => !answeredHere(path),
    http: createHttpRoutes({ translate, session, taskEvents, approvalEvents, viewer, onFault }),
  });
  health.setServing(true);
  let drained: Promise<void> | undefined;
  return {
    address: door.address,
    [Symbol.asyncDispose]() {
      health.setServing(false);
      drained ??= drain(door, calls, parts.graceMs);
      return drained;
    },
  };
}

async function drain(door: FrontDoor, calls: ActiveCalls, graceMs: number): Promise<void> {
  door.refuseNew();
  await calls.drain(graceMs);
  // What was just ended is on its way to the sockets.
  await new Promise((resolve) => setTimeout(resolve, Math.min(100, graceMs)));
  await door[Symbol.asyncDispose]();
}

const ownPrefixes = [
  "/grpc.health.v1.Health/",
  ...admittedServices.filter(({ target }) => target === "gateway").map(({ service }) => `/${service.typeName}/`),
];

function answeredHere(path: string | undefined): boolean {
  return ownPrefixes.some((prefix) => path?.startsWith(prefix));
}

function callObserver(metrics: Metrics, calls: ActiveCalls) {
  const seconds = metrics.histogram({
    name: "drover_gateway_grpc_seconds",
    help: "gRPC calls copied to a service, by the service and the gRPC status the client was told.",
    labels: ["target", "status"],
  });
  metrics.gauge({
    name: "drover_gateway_calls_active",
    help: "Calls that run at the edge, streams included.",
    read: () => calls.size,
  });
  const observers = new Map<string, (value: number) => void>();
  return (target: string, status: string, duration: number): void => {
    const key = `${target} ${status}`;
    let observe = observers.get(key);
    if (observe === undefined) {
      // The status comes from a service, so its label is kept to the numbers that gRPC has.
      observe = seconds.bind({ target, status: /^\d{1,2}$/.test(status) ? status : "2" });
      observers.set(key, observe);
    }
    observe(duration);
  };
}
