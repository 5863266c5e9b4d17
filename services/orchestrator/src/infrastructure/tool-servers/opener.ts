import { DroverError } from "@drover/kernel";
import type { ToolServerOpener } from "../../application/tool-source-ports.ts";
import type { ToolServer } from "../../domain/tool-server.ts";
import { type CheckedTransportParts, createCheckedTransport } from "./checked-transport.ts";
import { createGrpcHook } from "./grpc-hook.ts";
import { createGrpcSource } from "./grpc-source.ts";
import { headersOf, type SecretLookup } from "./secret-headers.ts";

/**
 * Opens ways to the servers of teams. Each call carries an identity of this service's for the audience `tool.<name>`,
 * which no service of ours takes for its own, and the headers of the row with their secrets.
 */
export function createToolServerOpener(
  parts: CheckedTransportParts & { readonly secrets: SecretLookup },
): ToolServerOpener {
  const wayTo = ({ name, address }: ToolServer) => createCheckedTransport(parts, address, `tool.${name}`);
  const headers = (tenant: string, server: ToolServer) => () => headersOf(parts.secrets, tenant, server);
  return {
    hook: (tenant, server) => createGrpcHook(wayTo(server), server, headers(tenant, server)),
    source(tenant, server) {
      if (server.kind === "grpc") return createGrpcSource(wayTo(server), tenant, headers(tenant, server));
      throw new DroverError("FAILED_PRECONDITION", `Servers of kind ${server.kind} cannot be opened by this version.`, {
        reason: "TOOL_SERVER_KIND_NOT_OFFERED",
        retryable: false,
      });
    },
  };
}
