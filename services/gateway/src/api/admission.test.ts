import { describe, expect, it } from "vitest";
import { admittedMethod, admittedServices, knownScopes, requireScope } from "./admission.ts";

const principal = (scopes: readonly string[]) => ({ keyId: "k", tenant: "t", subject: "s", scopes });

describe("admittedMethod", () => {
  it("routes by service", () => {
    const target = (path: string) => admittedMethod(path).target;
    expect(target("/drover.orchestrator.v1.TaskService/SubmitTask")).toBe("orchestrator");
    expect(target("/drover.orchestrator.v1.ApprovalService/DecideApproval")).toBe("orchestrator");
    expect(target("/drover.orchestrator.v1.AgentService/PutPolicy")).toBe("orchestrator");
    expect(target("/drover.orchestrator.v1.PrivacyService/Purge")).toBe("orchestrator");
    expect(target("/drover.orchestrator.v1.ToolServerService/PutToolServer")).toBe("orchestrator");
    expect(target("/drover.sandbox.v1.WorkspaceService/PutFiles")).toBe("sandbox");
    expect(target("/drover.rag.v1.RetrievalService/Search")).toBe("rag");
    expect(target("/drover.memory.v1.ConversationService/BuildContext")).toBe("memory");
    expect(target("/drover.memory.v1.FactService/ListFacts")).toBe("memory");
    expect(target("/drover.trace.v1.TraceService/WatchTrace")).toBe("trace");
    expect(target("/drover.gateway.v1.AccountService/WhoAmI")).toBe("gateway");
  });

  it.each([
    undefined,
    "/",
    "/drover.orchestrator.v1.TaskService/Nothing",
    "/drover.test.v1.EchoService/Echo",
    "/drover.common.v1.ErasureService/Erase",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/drover.orchestrator.v1.TaskService/SubmitTask/",
    "//drover.orchestrator.v1.TaskService/SubmitTask",
  ])("does not know %s", (path) => {
    expect(() => admittedMethod(path)).toThrowError(expect.objectContaining({ code: "UNIMPLEMENTED" }));
  });

  it("admits no method without a scope", () => {
    for (const { service } of admittedServices) {
      for (const method of service.methods) {
        expect(admittedMethod(`/${service.typeName}/${method.name}`).scope).toMatch(/^[a-z]+:[a-z]+$/);
      }
    }
  });

  it("takes watches, and no run, for resumable", () => {
    expect(admittedMethod("/drover.orchestrator.v1.TaskService/WatchTask").resumable).toBe(true);
    expect(admittedMethod("/drover.orchestrator.v1.ApprovalService/WatchApprovals").resumable).toBe(true);
    expect(admittedMethod("/drover.sandbox.v1.ExecService/Run").resumable).toBe(false);
    expect(admittedMethod("/drover.orchestrator.v1.TaskService/GetTask").resumable).toBe(false);
  });
});

describe("requireScope", () => {
  const submit = admittedMethod("/drover.orchestrator.v1.TaskService/SubmitTask");

  it("names the scope that is missing", () => {
    expect(() => requireScope(principal(["tasks:read"]), submit)).toThrowError(
      expect.objectContaining({ code: "PERMISSION_DENIED", metadata: { scope: "tasks:write" } }),
    );
    expect(() => requireScope(principal(knownScopes), submit)).not.toThrow();
  });

  it("closes a method without a scope to everybody", () => {
    expect(() => requireScope(principal(knownScopes), { ...submit, scope: undefined })).toThrow(/open to nobody/);
  });
});
