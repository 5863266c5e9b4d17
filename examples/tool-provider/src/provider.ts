import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import type { ConnectRouter, ServiceImpl } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { ToolProviderService } from "@drover/proto/tool/v1/tool_provider_service";
import { identityCheck, tenantKey } from "./identity.ts";
import { orderTools } from "./orders.ts";

/** Results of calls by call id, so that a call that is sent again is answered and not run again; a real service keeps them in its database. */
const results = new Map<string, { readonly summary: string; readonly text: string }>();

const service: ServiceImpl<typeof ToolProviderService> = {
  list: () => ({
    tools: orderTools.map(({ name, description, schema }) => {
      return { name, description, inputSchemaJson: JSON.stringify(schema) };
    }),
  }),
  async *call({ callId, name, argumentsJson }, context) {
    const tool = orderTools.find((one) => one.name === name);
    if (tool === undefined) {
      const summary = `There is no tool ${name}.`;
      yield { message: { case: "result", value: { isError: true, errorCode: "UNKNOWN_TOOL", summary } } };
      return;
    }
    yield { message: { case: "progress", value: { text: "looking the order up" } } };
    const tenant = context.values.get(tenantKey);
    const key = `${tenant}/${callId}`;
    const result = results.get(key) ?? tool.run(JSON.parse(argumentsJson) as Record<string, unknown>, tenant);
    results.set(key, result);
    yield { message: { case: "result", value: result } };
  },
  // Every call here is over at once; a longer one would be stopped.
  cancel: () => ({}),
};

/** Starts the provider; `audience` is `tool.` and the name of its row. Disposing ends it. */
export async function startProvider(options: {
  readonly host: string;
  readonly port: number;
  readonly publicKeys: string;
  readonly audience: string;
}) {
  const routes = (router: ConnectRouter) => router.service(ToolProviderService, service);
  const interceptors = [identityCheck(options.publicKeys, options.audience)];
  const server = createServer(connectNodeAdapter({ routes, interceptors }));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const sessions = new Set<{ close(): void }>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  });
  return {
    address: `${options.host}:${port}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const session of sessions) session.close();
      await closed;
    },
  };
}
