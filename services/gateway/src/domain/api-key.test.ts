import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expandScopes, formatApiKey, parseApiKey } from "./api-key.ts";

const id = fc.stringMatching(/^[a-z0-9]{12}$/);
const secret = fc.stringMatching(/^[A-Za-z0-9_-]{43}$/);

describe("an API key", () => {
  it("is read back whatever its secret holds, underscores included", () => {
    fc.assert(
      fc.property(id, secret, (i, s) => {
        expect(parseApiKey(formatApiKey({ id: i, secret: s }))).toEqual({ id: i, secret: s });
      }),
    );
  });

  it.each([
    "",
    "drv_",
    "drv_abc_def",
    `drv_abcdefghijkl_${"x".repeat(42)}`,
    `drv_ABCDEFGHIJKL_${"x".repeat(43)}`,
    `sk-${"x".repeat(43)}`,
    `drv_abcdefghijkl_${"x".repeat(43)}\n`,
  ])("is not %j", (text) => expect(parseApiKey(text)).toBeUndefined());
});

describe("expandScopes", () => {
  it("turns the star into what the edge knows and leaves others alone", () => {
    expect(expandScopes(["*"], ["a", "b"])).toEqual(["a", "b"]);
    expect(expandScopes(["a"], ["a", "b"])).toEqual(["a"]);
  });
});
