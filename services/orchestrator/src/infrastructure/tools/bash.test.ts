import { createRouterTransport, type Transport } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import { ExecService, type StartRequest } from "@drover/proto/sandbox/v1/exec_service";
import { connectErrorFrom, droverErrorFrom } from "@drover/rpc";
import type { Span } from "@drover/tracing";
import { expect, test } from "vitest";
import type { ToolContext } from "../../application/tool-ports.ts";
import { bashTool } from "./bash.ts";

const context: ToolContext = {
  tenant: "acme",
  subject: "ada",
  taskId: "task",
  trace: { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" },
  callId: "01900000-0000-7000-8000-000000000001",
  conversationId: "conversation",
  collection: "default",
  allowedCommands: [],
  workspace: async () => "01900000-0000-7000-8000-000000000002",
  // Nothing of the span is asked for where nothing is tried again.
  span: {} as Span,
};

test("the commands that a task may use go with every call, and what the sandbox refuses is told", async () => {
  const asked: StartRequest[] = [];
  const served = createRouterTransport(({ service }) => {
    service(ExecService, {
      start(request) {
        asked.push(request);
        if (request.command === "ls") return { execution: { id: "run" } };
        const message = 'The command "rm" is not among those that are allowed: cat, ls.';
        throw connectErrorFrom(new DroverError("PERMISSION_DENIED", message, { reason: "COMMAND_NOT_ALLOWED" }));
      },
    });
  });
  // As the transport between services throws it.
  const unary: Transport["unary"] = (...call) =>
    served.unary(...call).catch((error) => Promise.reject(droverErrorFrom(error)));
  const sandbox: Transport = { ...served, unary };
  const bash = bashTool(sandbox, 0);
  const { signal } = new AbortController();
  const run = (command: string, allowedCommands: readonly string[]) =>
    bash.execute({ command, background: true }, { ...context, allowedCommands }, signal);
  expect(await run("ls", ["ls", "cat"])).toMatchObject({ ok: true });
  expect(await run("ls", [])).toMatchObject({ ok: true });
  expect(asked.map(({ allowedCommands }) => allowedCommands)).toEqual([["ls", "cat"], []]);
  const refused = await run("rm x", ["ls", "cat"]).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "PERMISSION_DENIED", message: expect.stringContaining('"rm"') });
  expect(asked.at(-1)?.allowedCommands).toEqual(["ls", "cat"]);
});
