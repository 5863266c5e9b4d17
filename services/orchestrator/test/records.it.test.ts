import { DroverError } from "@drover/kernel";
import { callsScript } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ended, type Harness, type Replica, startHarness, stateName, submit } from "./harness.ts";

const secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD";
const code = (text: string) => ({ name: "run_code", arguments: { language: "python", code: text } });

let harness: Harness;
let replica: Replica;
let taskId: string;
beforeAll(async () => {
  harness = await startHarness(callsScript([code("print one"), code(`print ${secret}`)]));
  replica = await harness.orchestrator();
  const task = await submit(replica, "acme", `Print two things, with ${secret}`);
  taskId = task.id;
  await ended(replica, "acme", taskId);
});
afterAll(async () => {
  await replica?.[Symbol.asyncDispose]();
  await harness?.[Symbol.asyncDispose]();
});

interface Page {
  readonly nextPageToken: string;
}

async function pagesOf<P extends Page, R>(
  list: (page: { taskId: string; pageSize: number; pageToken: string }) => Promise<P>,
  records: (page: P) => readonly R[],
): Promise<R[]> {
  const all: R[] = [];
  let pageToken = "";
  do {
    const page = await list({ taskId, pageSize: 2, pageToken });
    expect(records(page).length).toBeLessThanOrEqual(2);
    all.push(...records(page));
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return all;
}

test("transitions come in order, with actor, input and the event that tells of them", async () => {
  const as = replica.as("acme");
  const all = await pagesOf(
    (page) => replica.client.listTransitions(page, as),
    (page) => page.transitions,
  );
  const states = all.map(({ from, to }) => `${stateName(from)} ${stateName(to)}`);
  expect(states).toEqual(
    ["UNSPECIFIED CREATED", "CREATED RUNNING", "RUNNING VERIFYING", "VERIFYING SUCCEEDED"].map((line) =>
      line.replace("UNSPECIFIED", stateName(0)),
    ),
  );
  expect(all[0]).toMatchObject({ actor: "alice", inputEvent: "submitted", version: 1n, outputEvent: 1n });
  const versions = all.map(({ version }) => Number(version));
  expect(versions).toEqual(versions.toSorted((a, b) => a - b));
});

test("steps come in order without a gap, and hold no secret", async () => {
  const as = replica.as("acme");
  const all = await pagesOf(
    (page) => replica.client.listSteps(page, as),
    (page) => page.steps,
  );
  expect(all.map(({ seq }) => Number(seq))).toEqual(all.map((_, index) => index + 1));
  expect(all[0]?.kind).toBe("prompt");
  expect(all.filter(({ kind }) => kind === "turn").every(({ usage, role, model }) => usage && role && model)).toBe(
    true,
  );
  const text = all.map((step) => step.text).join("\n");
  expect(text).toContain("[redacted:");
  expect(text).not.toContain(secret);
});

test("calls come in call order, with redacted arguments and their hash", async () => {
  const as = replica.as("acme");
  const all = await pagesOf(
    (page) => replica.client.listToolCalls(page, as),
    (page) => page.toolCalls,
  );
  const places = all.map(({ stepSeq, ordinal }) => Number(stepSeq) * 1_000 + ordinal);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(all.map(({ tool }) => tool)).toEqual(["run_code", "run_code"]);
  for (const call of all) {
    expect(call.argumentsHash).toMatch(/^[0-9a-f]{64}$/);
    expect(call.argumentsPreview).not.toContain(secret);
    expect(call.policyEffect).toBe("allow");
    expect(call.endedAt).toBeDefined();
  }
});

test("foreign tasks are NOT_FOUND; a token of another list or task is refused", async () => {
  const codeOf = (work: Promise<unknown>) =>
    work.then(
      () => "OK",
      (error: unknown) => (error instanceof DroverError ? error.code : String(error)),
    );
  const { client } = replica;
  for (const list of [client.listTransitions, client.listSteps, client.listToolCalls]) {
    expect(await codeOf(list({ taskId }, replica.as("other")))).toBe("NOT_FOUND");
    expect(await codeOf(list({ taskId: "no-id" }, replica.as("acme")))).toBe("INVALID_ARGUMENT");
    expect(await codeOf(list({ taskId, pageSize: -1 }, replica.as("acme")))).toBe("INVALID_ARGUMENT");
    expect(await codeOf(list({ taskId, pageToken: "x" }, replica.as("acme")))).toBe("INVALID_ARGUMENT");
  }
  const { nextPageToken } = await client.listSteps({ taskId, pageSize: 1 }, replica.as("acme"));
  const elsewhere = client.listTransitions({ taskId, pageToken: nextPageToken }, replica.as("acme"));
  expect(await codeOf(elsewhere)).toBe("INVALID_ARGUMENT");
});
