import { type FieldViolation, invalidFields } from "@drover/kernel";
import type { ToolServer } from "./tool-server.ts";

/** Bounds of a row, and how many a tenant may have. */
export const toolServerLimits = Object.freeze({
  servers: 100,
  addressCharacters: 2_000,
  headers: 20,
  headerCharacters: 4_000,
  tools: 500,
  shortestTimeoutMs: 100,
  longestTimeoutMs: 600_000,
  defaultTimeoutMs: 30_000,
  defaultHookTimeoutMs: 2_000,
});

const namePattern = /^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/;
const nameAllowed = "1 to 32 of a-z, 0-9 and -, no - at an end";
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const secretName = /^[A-Za-z0-9_.-]{1,100}$/;
const printable = /^[\x20-\x7e]*$/;
const grpcAddress = /^(?:dns:\/\/\/)?[A-Za-z0-9_.-]{1,253}:\d{1,5}$|^\[[0-9A-Fa-f:.]{2,45}\]:\d{1,5}$/;
/** Headers that belong to the protocol or to the identity that calls carry. */
const reserved = /^(?:x-drover-.*|grpc-.*|:.*|host|content-.*|transfer-encoding|connection|te|traceparent|mcp-.*)$/;

/** INVALID_ARGUMENT unless `name` can be the name of a server. */
export function checkToolServerName(name: string): void {
  if (!namePattern.test(name)) throw invalidFields([{ field: "name", found: shown(name), allowed: nameAllowed }]);
}

/** INVALID_ARGUMENT with every fault of a row. */
export function checkToolServer(server: ToolServer): void {
  const faults = [...faultsOf(server), ...headerFaults(server), ...toolFaults(server), ...hookFaults(server)];
  if (faults.length > 0) throw invalidFields(faults);
}

function* faultsOf({ name, kind, address, timeoutMs }: ToolServer): Generator<FieldViolation> {
  if (!namePattern.test(name)) yield { field: "server.name", found: shown(name), allowed: nameAllowed };
  const { shortestTimeoutMs: least, longestTimeoutMs: most } = toolServerLimits;
  if (!Number.isSafeInteger(timeoutMs) || timeoutMs < least || timeoutMs > most) {
    const allowed = `0 for the default, or ${least} to ${most}`;
    yield { field: "server.timeout_ms", found: String(timeoutMs), allowed };
  }
  const allowed = addressAllowed(kind, address);
  if (allowed !== undefined) yield { field: "server.address", found: shown(address), allowed };
}

function addressAllowed(kind: ToolServer["kind"], address: string): string | undefined {
  const most = toolServerLimits.addressCharacters;
  if (address.trim() === "" || address.length > most) return `1 to ${most} characters`;
  if (kind === "mcp_stdio") return undefined;
  if (kind === "mcp_http") {
    const url = URL.parse(address);
    const good = url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
    return good ? undefined : "an http or https URL without a user name or password";
  }
  const good = address.split(",").every((one) => grpcAddress.test(one.trim()));
  return good ? undefined : "host:port, a comma list of them, or dns:///name:port";
}

function* headerFaults({ headers }: ToolServer): Generator<FieldViolation> {
  if (headers.length > toolServerLimits.headers) {
    const allowed = `at most ${toolServerLimits.headers}`;
    yield { field: "server.headers", found: `${headers.length} headers`, allowed };
  }
  const seen = new Set<string>();
  for (const [index, { name, value, secret }] of headers.slice(0, toolServerLimits.headers).entries()) {
    const field = `server.headers[${index}]`;
    const lower = name.toLowerCase();
    if (!headerName.test(name) || reserved.test(lower)) {
      yield { field: `${field}.name`, found: shown(name), allowed: "a header name that is not the protocol's own" };
    }
    if (seen.has(lower)) yield { field: `${field}.name`, found: "a name twice", allowed: "each name once" };
    seen.add(lower);
    // What stands there may be a secret that does not belong there: it is not shown.
    if (!printable.test(value) || value.length > toolServerLimits.headerCharacters) {
      const allowed = `at most ${toolServerLimits.headerCharacters} printable ASCII characters`;
      yield { field: `${field}.value`, found: "something else", allowed };
    }
    if (secret !== "" && !secretName.test(secret)) {
      yield { field: `${field}.secret`, found: "something else", allowed: "1 to 100 letters, digits, _, . and -" };
    }
  }
}

function* toolFaults({ tools, replay }: ToolServer): Generator<FieldViolation> {
  const names = [...tools, ...replay.map(({ tool }) => tool)];
  const bad = names.find((name) => name === "" || name.length > 128);
  if (bad !== undefined || Math.max(tools.length, replay.length) > toolServerLimits.tools) {
    const found = bad === undefined ? "too many" : shown(bad);
    const allowed = `at most ${toolServerLimits.tools} names of 1 to 128 characters`;
    yield { field: "server.tools", found, allowed };
  }
}

function* hookFaults({ kind, points, failOpen, tools, replay }: ToolServer): Generator<FieldViolation> {
  if (kind !== "grpc_hook") {
    if (points.length > 0 || failOpen) {
      yield { field: "server.points", found: "settings of a hook", allowed: "only where the kind is GRPC_HOOK" };
    }
    return;
  }
  if (points.length === 0)
    yield { field: "server.points", found: "none", allowed: "at least one point of a GRPC_HOOK" };
  if (tools.length > 0 || replay.length > 0) {
    yield { field: "server.tools", found: "settings of a server of tools", allowed: "nothing of a GRPC_HOOK" };
  }
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}
