import { createClient } from "@connectrpc/connect";
import { EchoService } from "@drover/proto/test/v1/echo_service";
import { expect, test } from "vitest";
import { actingAs } from "../src/index.ts";
import { ada, echo, startEcho } from "./echo.ts";

const contextValues = actingAs(ada);

test("all four kinds of methods", async () => {
  await using fixture = await startEcho((router) => router.service(EchoService, echo));
  const client = createClient(EchoService, fixture.transport());
  expect((await client.echo({ text: "hallo" }, { contextValues })).text).toBe("hallo");
  const seen: number[] = [];
  for await (const { sequence } of client.watch({ text: "a", n: 100 }, { contextValues })) seen.push(sequence);
  expect(seen).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
  const uploaded = await client.upload(chunks(50, 1000), { contextValues });
  expect(uploaded).toMatchObject({ bytes: 50_000n, chunks: 50 });
  const answers: string[] = [];
  for await (const { text } of client.chat(words(["a", "b", "c"]), { contextValues })) answers.push(text);
  expect(answers).toEqual(["a", "b", "c"]);
});

async function* chunks(n: number, size: number) {
  for (let i = 0; i < n; i++) yield { data: new Uint8Array(size) };
}

async function* words(texts: readonly string[]) {
  for (const text of texts) yield { text };
}
