import { createClient } from "@connectrpc/connect";
import { EchoService } from "@drover/proto/test/v1/echo_service";
import { expect, test } from "vitest";
import { actingAs, type Caller, createIdentityMinter, generateIdentityKeys } from "../src/index.ts";
import { ada, echo, startEcho } from "./echo.ts";

test("who may not call, is told why, and the handler never runs", async () => {
  const ran: string[] = [];
  await using fixture = await startEcho((router) =>
    router.service(EchoService, {
      ...echo,
      echo: ({ text }) => {
        ran.push(text);
        return { text };
      },
      closed: () => {
        ran.push("closed");
        return {};
      },
      async *watch() {
        ran.push("watch");
        yield {};
      },
    }),
  );
  const client = createClient(EchoService, fixture.transport());
  const as = (caller: Caller) => ({ contextValues: actingAs(caller) });
  await expect(client.echo({ text: "none" })).rejects.toMatchObject({
    code: "UNAUTHENTICATED",
    reason: "IDENTITY_MISSING",
  });
  await expect(client.echo({}, as({ ...ada, scopes: ["test:other"] }))).rejects.toMatchObject({
    code: "PERMISSION_DENIED",
    reason: "SCOPE_MISSING",
    message: 'Echo needs the scope "test:echo".',
    metadata: { scope: "test:echo" },
  });
  await expect(Array.fromAsync(client.watch({}, as({ ...ada, scopes: [] })))).rejects.toMatchObject({
    code: "PERMISSION_DENIED",
  });
  await expect(client.closed({}, as({ ...ada, scopes: ["", "*", "test:echo"] }))).rejects.toMatchObject({
    code: "PERMISSION_DENIED",
    reason: "METHOD_CLOSED",
  });
  const elsewhere = createClient(EchoService, fixture.transport({ audience: "memory" }));
  await expect(elsewhere.echo({}, as(ada))).rejects.toMatchObject({
    code: "UNAUTHENTICATED",
    message: expect.stringContaining('"aud"'),
  });
  const { privateKey } = await generateIdentityKeys();
  const stranger = createIdentityMinter({ privateKey, issuer: "gateway" });
  const strange = createClient(EchoService, fixture.transport({ minter: stranger }));
  await expect(strange.echo({}, as(ada))).rejects.toMatchObject({
    code: "UNAUTHENTICATED",
    reason: "IDENTITY_REFUSED",
  });
  expect(ran).toEqual([]);
});

test("two identities in one call are refused, whichever comes first", async () => {
  await using fixture = await startEcho((router) => router.service(EchoService, echo));
  const client = createClient(EchoService, fixture.transport());
  const token = await fixture.minter.mint(ada, "test");
  for (const tokens of [
    [token, "x"],
    ["x", token],
    [token, token],
  ]) {
    const headers = tokens.map((value): [string, string] => ["x-drover-identity", value]);
    await expect(client.echo({}, { headers })).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  }
});

test("a process without a key cannot act for anybody", async () => {
  await using fixture = await startEcho((router) => router.service(EchoService, echo));
  const { minter: _, ...options } = { addresses: fixture.server.address, audience: "test", minter: fixture.minter };
  const { createRpcTransport } = await import("../src/index.ts");
  await using transport = createRpcTransport(options);
  const client = createClient(EchoService, transport);
  await expect(client.echo({}, { contextValues: actingAs(ada) })).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
  await expect(Array.fromAsync(client.watch({}, { contextValues: actingAs(ada) }))).rejects.toMatchObject({
    code: "UNAUTHENTICATED",
  });
});

test("a method that the service does not implement", async () => {
  await using fixture = await startEcho((router) => router.service(EchoService, {}));
  const client = createClient(EchoService, fixture.transport());
  await expect(client.echo({}, { contextValues: actingAs(ada) })).rejects.toMatchObject({ code: "UNIMPLEMENTED" });
});
