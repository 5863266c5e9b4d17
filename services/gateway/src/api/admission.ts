import { type DescMethod, type DescService, getOption, hasOption } from "@bufbuild/protobuf";
import { DroverError } from "@drover/kernel";
import { scope as scopeOption } from "@drover/proto/common/v1/options";
import { AccountService } from "@drover/proto/gateway/v1/account_service";
import { ConversationService } from "@drover/proto/memory/v1/conversation_service";
import { FactService } from "@drover/proto/memory/v1/fact_service";
import { AgentService } from "@drover/proto/orchestrator/v1/agent_service";
import { ApprovalService } from "@drover/proto/orchestrator/v1/approval_service";
import { PrivacyService } from "@drover/proto/orchestrator/v1/privacy_service";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { ToolServerService } from "@drover/proto/orchestrator/v1/tool_server_service";
import { DocumentService } from "@drover/proto/rag/v1/document_service";
import { RetrievalService } from "@drover/proto/rag/v1/retrieval_service";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { WorkspaceService } from "@drover/proto/sandbox/v1/workspace_service";
import { TraceService } from "@drover/proto/trace/v1/trace_service";
import type { Principal } from "../application/principal.ts";

/** The services behind the edge; each is also the audience of its identity tokens. */
export const targets = ["orchestrator", "sandbox", "rag", "memory", "trace"] as const;
export type Target = (typeof targets)[number];

/** What the edge admits, and who answers it. Everything else is UNIMPLEMENTED here. */
export const admittedServices: readonly { readonly service: DescService; readonly target: Target | "gateway" }[] = [
  { service: AccountService, target: "gateway" },
  { service: TaskService, target: "orchestrator" },
  { service: AgentService, target: "orchestrator" },
  { service: ApprovalService, target: "orchestrator" },
  { service: PrivacyService, target: "orchestrator" },
  { service: ToolServerService, target: "orchestrator" },
  { service: ExecService, target: "sandbox" },
  { service: WorkspaceService, target: "sandbox" },
  { service: DocumentService, target: "rag" },
  { service: RetrievalService, target: "rag" },
  { service: ConversationService, target: "memory" },
  { service: FactService, target: "memory" },
  { service: TraceService, target: "trace" },
];

/** One method that the edge admits. */
export interface AdmittedMethod {
  readonly path: string;
  readonly method: DescMethod;
  readonly target: Target | "gateway";
  /** Undefined where the descriptor names none: then nobody may call it. */
  readonly scope: string | undefined;
  readonly unary: boolean;
  /** A watch: its client can go on from the last sequence, so a drain ends it at once. */
  readonly resumable: boolean;
}

const methods: ReadonlyMap<string, AdmittedMethod> = new Map(
  admittedServices.flatMap(({ service, target }) =>
    service.methods.map((method) => {
      const path = `/${service.typeName}/${method.name}`;
      const scope = hasOption(method, scopeOption) ? getOption(method, scopeOption) : undefined;
      const unary = method.methodKind === "unary";
      const resumable = method.methodKind === "server_streaming" && method.name.startsWith("Watch");
      return [path, { path, method, target, scope, unary, resumable }] as const;
    }),
  ),
);

/** The method behind a request's path. UNIMPLEMENTED where the edge admits none. */
export function admittedMethod(path: string | undefined): AdmittedMethod {
  const method = methods.get(path ?? "");
  if (method === undefined) {
    throw new DroverError("UNIMPLEMENTED", `There is no method ${JSON.stringify((path ?? "").slice(0, 100))} here.`, {
      reason: "METHOD_UNKNOWN",
    });
  }
  return method;
}

/** Every scope that some admitted method asks for, sorted. */
export const knownScopes: readonly string[] = Object.freeze(
  [...new Set([...methods.values()].flatMap(({ scope }) => scope ?? []))].sort(),
);

/** PERMISSION_DENIED unless the principal holds the method's scope. */
export function requireScope(principal: Principal, { method, scope }: AdmittedMethod): void {
  if (scope !== undefined && principal.scopes.includes(scope)) return;
  const why = scope === undefined ? "is open to nobody" : `needs the scope "${scope}", which this key does not have`;
  throw new DroverError("PERMISSION_DENIED", `${method.name} ${why}.`, {
    reason: scope === undefined ? "METHOD_CLOSED" : "SCOPE_MISSING",
    ...(scope === undefined ? {} : { metadata: { scope } }),
  });
}
