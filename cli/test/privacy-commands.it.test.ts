import type { ConnectRouter } from "@connectrpc/connect";
import { notFound } from "@drover/kernel";
import { PrivacyService, type PurgeRequest } from "@drover/proto/orchestrator/v1/privacy_service";
import { expect, test } from "vitest";
import { startDrover } from "./drover-process.ts";
import { startFakeGateway, thrown } from "./fake-gateway.ts";

const id = "0192f3a1-7c3e-7a52-9a0e-3f1d2b4c5d6e";

/** A removal that memory holds up for so many looks. */
function served(looks: number) {
  const seen: { request?: PurgeRequest; looks: number } = { looks: 0 };
  const receipt = () => {
    const over = seen.looks >= looks;
    const memory = { service: "memory", done: over, removed: 2n, problem: over ? "" : "UNAVAILABLE: away" };
    const parts = [{ service: "orchestrator", done: over, removed: over ? 1n : 0n }, memory];
    return { receipt: { id, parts, ...(over ? { completedAt: { seconds: 1n } } : {}) } };
  };
  const serve = (router: ConnectRouter) => {
    router.service(PrivacyService, {
      purge(request) {
        seen.request = request;
        return receipt();
      },
      getPurge({ purgeId }) {
        if (purgeId !== id) throw thrown(notFound("purge", purgeId));
        seen.looks++;
        return receipt();
      },
    });
  };
  return { seen, serve };
}

async function run(words: readonly string[], gateway: { readonly url: string }) {
  const { code, stdout, stderr } = await startDrover([...words, "--url", gateway.url]).ended;
  return { code, out: stdout.toString(), err: String(stderr) };
}

test("a removal is begun, says what holds it up, and can be followed to its end", async () => {
  const { seen, serve } = served(2);
  await using gateway = await startFakeGateway(serve);
  const begun = await run(["privacy", "purge", "--user", "alice", "--request-id", "once"], gateway);
  expect(begun.code).toBe(0);
  expect(seen.request).toMatchObject({ requestId: "once", subject: { case: "user", value: "alice" } });
  expect(begun.out).toContain(`removal ${id} goes on\n`);
  expect(begun.out).toContain("memory        waits    2 removed · UNAVAILABLE: away\n");
  const shown = await run(["privacy", "show", id, "--wait"], gateway);
  expect(shown.code).toBe(0);
  expect(seen.looks).toBe(2);
  expect(shown.out).toContain(`removal ${id} is complete\n  orchestrator  done     1 removed\n`);
});

test("it is one JSON document, and an unknown removal is an error", async () => {
  const { serve } = served(0);
  await using gateway = await startFakeGateway(serve);
  const { out } = await run(["privacy", "purge", "--conversation", id, "--json"], gateway);
  expect(JSON.parse(out)).toMatchObject({ receipt: { id, completedAt: "1970-01-01T00:00:01Z" } });
  const unknown = await run(["privacy", "show", "nothing"], gateway);
  expect(unknown.code).toBe(1);
  expect(unknown.err).toContain("was not found");
});

test("nobody, two subjects, and a whole tenant without --yes are refused before anything is asked", async () => {
  const { seen, serve } = served(0);
  await using gateway = await startFakeGateway(serve);
  const wrong = [[], ["--user", "a", "--conversation", id], ["--whole-tenant"]];
  for (const words of wrong) expect((await run(["privacy", "purge", ...words], gateway)).code).toBe(2);
  expect(seen.request).toBeUndefined();
  expect((await run(["privacy", "purge", "--whole-tenant", "--yes"], gateway)).code).toBe(0);
  expect(seen.request?.subject).toEqual({ case: "wholeTenant", value: true });
});
