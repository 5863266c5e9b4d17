import { once } from "node:events";
import { connect } from "node:http2";
import { createClient } from "@connectrpc/connect";
import { EchoService } from "@drover/proto/test/v1/echo_service";
import { expect, test } from "vitest";
import { actingAs } from "../src/index.ts";
import { ada, type EchoImplementation, startEcho } from "./echo.ts";

const contextValues = actingAs(ada);

/** An implementation that notes which of its handlers ran. */
function noting(ran: string[]): EchoImplementation {
  return {
    echo: () => ({ text: String(ran.push("Echo")) }),
    async *watch() {
      yield { sequence: ran.push("Watch") };
    },
    async upload() {
      return { chunks: ran.push("Upload") };
    },
    async *chat() {
      yield { text: String(ran.push("Chat")) };
    },
  };
}

test("a time-out that is not above zero is exceeded at once, and nothing is sent", async () => {
  const ran: string[] = [];
  await using fixture = await startEcho((router) => router.service(EchoService, noting(ran)));
  const client = createClient(EchoService, fixture.transport());
  for (const timeoutMs of [0, -1, Number.NEGATIVE_INFINITY, Number.NaN]) {
    const options = { contextValues, timeoutMs };
    const exceeded = { code: "DEADLINE_EXCEEDED" };
    await expect(client.echo({}, options)).rejects.toMatchObject(exceeded);
    await expect(client.upload(none(), options)).rejects.toMatchObject(exceeded);
    await expect(Array.fromAsync(client.watch({}, options))).rejects.toMatchObject(exceeded);
    await expect(Array.fromAsync(client.chat(none(), options))).rejects.toMatchObject(exceeded);
  }
  expect(ran).toEqual([]);
  expect(await fixture.metrics.render()).not.toContain("drover_rpc_server_seconds_count{");
  expect(await client.echo({}, { contextValues })).toMatchObject({ text: "1" });
});

test.each(["Echo", "Watch", "Upload", "Chat"])(
  "%s whose deadline is past when it arrives does not run",
  async (name) => {
    const ran: string[] = [];
    await using fixture = await startEcho((router) => router.service(EchoService, noting(ran)));
    const token = await fixture.minter.mint(ada, "test");
    const session = connect(`http://${fixture.server.address}`);
    const call = async (timeout: string) => {
      const stream = session.request({
        ":method": "POST",
        ":path": `/drover.test.v1.EchoService/${name}`,
        "content-type": "application/grpc",
        te: "trailers",
        "x-drover-identity": token,
        "grpc-timeout": timeout,
      });
      let status: unknown;
      for (const event of ["response", "trailers"]) {
        stream.on(event, (headers) => {
          status ??= headers["grpc-status"];
        });
      }
      // An empty message: not compressed, no bytes.
      stream.end(Buffer.alloc(5));
      await once(stream.resume(), "close");
      return status;
    };
    try {
      // This call also makes the identity known, so that nothing holds up the next ones but their deadline.
      expect(await call("30S")).toBe("0");
      expect(await call("0m")).toBe("4");
      expect(await call("1n")).toBe("4");
      expect(ran).toEqual([name]);
    } finally {
      session.close();
    }
  },
);

async function* none() {
  // Nothing is said.
}
