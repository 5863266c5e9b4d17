import { createClient } from "@connectrpc/connect";
import { EchoService } from "@drover/proto/test/v1/echo_service";
import { Client, credentials } from "@grpc/grpc-js";
import { service as health } from "grpc-health-check";
import { expect, test } from "vitest";
import { actingAs } from "../src/index.ts";
import { ada, echo, startEcho } from "./echo.ts";

const contextValues = actingAs(ada);
/** Longer than a test may take: a drain that waits for all of it fails by time-out. */
const graceMs = 600_000;

test("a drain lets a unary call finish, ends streams with UNAVAILABLE and takes no new call", async () => {
  const reached = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  await using fixture = await startEcho(
    (router) =>
      router.service(EchoService, {
        ...echo,
        async echo() {
          reached.resolve();
          await finish.promise;
          return { text: "finished" };
        },
      }),
    { graceMs, limits: { streamDrainMs: 100 } },
  );
  const client = createClient(EchoService, fixture.transport());
  const slow = client.echo({}, { contextValues });
  const watch = client.watch({ n: 0 }, { contextValues })[Symbol.asyncIterator]();
  await Promise.all([watch.next(), reached.promise]);
  const ended = expect(watch.next()).rejects.toMatchObject({ code: "UNAVAILABLE", reason: "SERVER_STOPPING" });
  const drained = fixture.server[Symbol.asyncDispose]();
  await ended;
  finish.resolve();
  expect((await slow).text).toBe("finished");
  await drained;
  await expect(client.echo({}, { contextValues })).rejects.toMatchObject({ code: "UNAVAILABLE" });
});

test("after the grace even a handler that heeds nothing is let go", async () => {
  await using fixture = await startEcho(
    (router) => router.service(EchoService, { ...echo, echo: () => new Promise<never>(() => {}) }),
    { graceMs: 100 },
  );
  const client = createClient(EchoService, fixture.transport());
  const stuck = expect(client.echo({}, { contextValues })).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await expect.poll(async () => await fixture.metrics.render()).toContain('drover_rpc_server_active{service="test"} 1');
  await fixture.server[Symbol.asyncDispose]();
  await stuck;
});

test("health follows setServing and the drain, for the server and each service", async () => {
  await using fixture = await startEcho((router) => router.service(EchoService, echo), { graceMs });
  const client = new Client(fixture.server.address, credentials.createInsecure());
  const { Check: check, Watch: watch } = health;
  if (check === undefined || watch === undefined) throw new Error("The health service has changed.");
  const ask = (service: string) =>
    new Promise<string>((resolve) => {
      client.makeUnaryRequest(
        check.path,
        check.requestSerialize,
        check.responseDeserialize,
        { service },
        (error, value) => resolve(error === null ? Object(value).status : String(error.code)),
      );
    });
  expect(await ask("")).toBe("SERVING");
  expect(await ask("drover.test.v1.EchoService")).toBe("SERVING");
  expect(await ask("no.such.Service")).toBe("5");
  fixture.server.setServing(false);
  expect(await ask("")).toBe("NOT_SERVING");
  fixture.server.setServing(true);
  const seen: string[] = [];
  const watching = client.makeServerStreamRequest(watch.path, watch.requestSerialize, watch.responseDeserialize, {
    service: "",
  });
  const closed = new Promise<void>((resolve) => {
    watching.on("data", (value: object) => seen.push(Object(value).status));
    watching.on("error", () => resolve());
  });
  await expect.poll(() => seen).toEqual(["SERVING"]);
  await fixture.server[Symbol.asyncDispose]();
  await closed;
  expect(seen).toEqual(["SERVING", "NOT_SERVING"]);
  client.close();
});
