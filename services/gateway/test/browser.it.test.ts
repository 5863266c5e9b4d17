import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EdgeFixture, startEdge } from "./edge-fixture.ts";

let edge: EdgeFixture;
let cookie = "";
const own = () => ({ origin: edge.url, "content-type": "application/json" });
const signIn = (body: string, headers: Record<string, string> = own()) =>
  fetch(`${edge.url}/session`, { method: "POST", body, headers });

beforeAll(async () => {
  edge = await startEdge();
  const response = await signIn(JSON.stringify({ key: edge.key }));
  cookie = response.headers.get("set-cookie")?.split(";")[0] ?? "";
});
afterAll(() => edge[Symbol.asyncDispose]());

describe("/session", () => {
  it("signs in with a key and sets a cookie that scripts and other sites cannot use", async () => {
    const response = await signIn(JSON.stringify({ key: edge.key }));
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ tenantId: "default", scopes: expect.any(Array) });
    const set = response.headers.get("set-cookie") ?? "";
    expect(set).toMatch(/; HttpOnly; SameSite=Strict/);
    expect(set).not.toContain(edge.key);
  });

  it("tells whose it is, and ends", async () => {
    const mine = await fetch(`${edge.url}/session`, { headers: { cookie } });
    expect(await mine.json()).toMatchObject({ tenantId: "default" });
    const end = await fetch(`${edge.url}/session`, { method: "DELETE", headers: { cookie, origin: edge.url } });
    expect(end.headers.get("set-cookie")).toMatch(/^drover_session=; .*Max-Age=0/);
    const none = await fetch(`${edge.url}/session`);
    expect([none.status, ((await none.json()) as { code: string }).code]).toEqual([401, "UNAUTHENTICATED"]);
  });

  it.each([
    [JSON.stringify({ key: "drv_wrong" }), 401],
    [JSON.stringify({ nothing: 1 }), 400],
    ["not json", 400],
    [JSON.stringify({ key: "x".repeat(10_000) }), 400],
  ])("refuses %.30s", async (body, status) => {
    const response = await signIn(body);
    expect(response.status).toBe(status);
    expect(response.headers.get("set-cookie")).toBeNull();
  });

  it("refuses a forged cookie", async () => {
    const forged = cookie.replace(/.$/, (last) => (last === "A" ? "B" : "A"));
    const response = await fetch(`${edge.url}/session`, { headers: { cookie: forged } });
    expect(response.status).toBe(401);
  });

  it("refuses another site's sign-in and sign-out", async () => {
    const foreign = { origin: "http://evil.example", "content-type": "application/json" };
    expect((await signIn(JSON.stringify({ key: edge.key }), foreign)).status).toBe(403);
    const end = await fetch(`${edge.url}/session`, { method: "DELETE", headers: { cookie, ...foreign } });
    expect(end.status).toBe(403);
  });
});

describe("an rpc with the cookie", () => {
  const call = (headers: Record<string, string>) =>
    fetch(`${edge.url}/drover.orchestrator.v1.TaskService/GetTask`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: '{"taskId":"t"}',
    });

  it("works from our own pages only", async () => {
    expect((await call({ cookie, origin: edge.url })).status).toBe(200);
    for (const origin of [{ origin: "http://evil.example" }, { origin: "null" }, {}]) {
      const refused = await call({ cookie, ...(origin as Record<string, string>) });
      expect(refused.status).toBe(403);
      expect(await refused.json()).toMatchObject({ code: "permission_denied" });
    }
  });

  it("streams events to our own pages", async () => {
    const response = await fetch(`${edge.url}/v1/tasks/long/events`, { headers: { cookie, "last-event-id": "59" } });
    expect(await response.text()).toContain("event: task.completed");
  });

  it("allows no other site to ask the browser first", async () => {
    const response = await fetch(`${edge.url}/drover.orchestrator.v1.TaskService/GetTask`, {
      method: "OPTIONS",
      headers: { origin: "http://evil.example", "access-control-request-method": "POST" },
    });
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("the viewer", () => {
  it("says how to build it, and then serves what was built", async () => {
    const before = await fetch(edge.url);
    expect(before.status).toBe(503);
    expect(await before.text()).toContain("npm run build");

    const root = join(edge.folder, "viewer");
    await mkdir(join(root, "assets"), { recursive: true });
    await writeFile(join(root, "index.html"), "<!doctype html>app");
    await writeFile(join(root, "assets", "app-1a2b.js"), "1");
    await writeFile(join(edge.folder, "secret.txt"), "secret");
    await symlink(join(edge.folder, "secret.txt"), join(root, "link.txt"));

    for (const path of ["/", "/t/0af7651916cd43dd8448eb211c80319c"]) {
      const page = await fetch(edge.url + path);
      expect([page.status, await page.text()]).toEqual([200, "<!doctype html>app"]);
      expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
      expect(page.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
      expect(page.headers.get("x-content-type-options")).toBe("nosniff");
    }
    const asset = await fetch(`${edge.url}/assets/app-1a2b.js`);
    expect(asset.headers.get("content-type")).toContain("text/javascript");
    expect(asset.headers.get("cache-control")).toContain("immutable");
    for (const path of ["/link.txt", "/%2e%2e/secret.txt", "/assets/nothing.js", "/assets"]) {
      expect((await fetch(edge.url + path)).status).toBe(404);
    }
  });
});
