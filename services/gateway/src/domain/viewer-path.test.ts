import { describe, expect, it } from "vitest";
import { viewerPath } from "./viewer-path.ts";

describe("viewerPath", () => {
  it.each(["/", "/t", "/t/", "/t/0af7651916cd43dd8448eb211c80319c", "/t/../x"])("answers %s with the page", (path) => {
    expect(viewerPath(path)).toEqual({ kind: "page" });
  });

  it("names a file by its segments", () => {
    expect(viewerPath("/assets/index-B2x_9.js")).toEqual({ kind: "file", segments: ["assets", "index-B2x_9.js"] });
  });

  it.each([
    "/../etc/passwd",
    "/assets/../../x",
    "/%2e%2e/x",
    "/a%2fb",
    "/a%00",
    "/.env",
    "/a/.git/config",
    "/a\\b",
    "/%zz",
    "//x",
    "/a/",
  ])("has nothing at %s", (path) => {
    expect(viewerPath(path)).toEqual({ kind: "none" });
  });
});
