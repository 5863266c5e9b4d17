import { newId } from "@drover/kernel";
import { expect, test, vi } from "vitest";
import type { Purge } from "../domain/purge.ts";
import type { NewPurge } from "./purge-ports.ts";
import { getPurge, requestPurge } from "./request-purge.ts";

const officer = { tenant: "acme", subject: "officer" };
const alice = { kind: "user", subject: "alice" } as const;

function setUp() {
  const recorded: NewPurge[] = [];
  const wake = vi.fn();
  const purges = {
    begin: async (purge: NewPurge) => {
      const known = recorded.find(({ requestId }) => requestId !== "" && requestId === purge.requestId);
      if (known !== undefined) {
        return {
          outcome: known.bodyHash === purge.bodyHash ? ("existing" as const) : ("conflict" as const),
          id: known.id,
        };
      }
      recorded.push(purge);
      return { outcome: "created" as const, id: purge.id };
    },
    get: async (tenant: string, id: string): Promise<Purge | undefined> =>
      recorded.some((purge) => purge.id === id && purge.tenant === tenant)
        ? { id, requestedBy: "officer", requestedAt: new Date(0), completedAt: undefined, parts: [] }
        : undefined,
  };
  return { parts: { purges, wake }, recorded, wake };
}

test("the same request again is the same removal, another one under its id is refused", async () => {
  const { parts, recorded, wake } = setUp();
  const first = await requestPurge(parts, officer, { requestId: "r1", subject: alice });
  const again = await requestPurge(parts, officer, { requestId: "r1", subject: alice });
  expect(again.id).toBe(first.id);
  expect(recorded).toHaveLength(1);
  expect(wake).toHaveBeenCalledOnce();
  const other = requestPurge(parts, officer, { requestId: "r1", subject: { kind: "tenant", subject: "" } });
  await expect(other).rejects.toMatchObject({ code: "ALREADY_EXISTS" });
});

test("without a request id each request is a removal of its own", async () => {
  const { parts } = setUp();
  const one = await requestPurge(parts, officer, { requestId: "", subject: alice });
  const two = await requestPurge(parts, officer, { requestId: "", subject: alice });
  expect(one.id).not.toBe(two.id);
});

test("a removal of another tenant, an unknown one and what is no id are not found", async () => {
  const { parts } = setUp();
  const { id } = await requestPurge(parts, officer, { requestId: "", subject: alice });
  expect((await getPurge(parts.purges, "acme", id)).id).toBe(id);
  for (const [tenant, wanted] of [
    ["other", id],
    ["acme", newId()],
    ["acme", "'; --"],
  ] as const) {
    await expect(getPurge(parts.purges, tenant, wanted)).rejects.toMatchObject({ code: "NOT_FOUND" });
  }
});

test("a removal of nobody is refused before anything is recorded", async () => {
  const { parts, recorded } = setUp();
  const nobody = requestPurge(parts, officer, { requestId: "", subject: undefined });
  await expect(nobody).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(recorded).toEqual([]);
});
