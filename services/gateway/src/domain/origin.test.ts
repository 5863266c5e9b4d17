import { describe, expect, it } from "vitest";
import { isOwnOrigin } from "./origin.ts";

describe("isOwnOrigin", () => {
  it("takes the host that was asked and what is allowed", () => {
    expect(isOwnOrigin("http://localhost:7700", "localhost:7700")).toBe(true);
    expect(isOwnOrigin("https://drover.example", "drover.example")).toBe(true);
    expect(isOwnOrigin("https://front.example", "10.0.0.7:7700", ["https://front.example"])).toBe(true);
  });

  it.each([
    [undefined, "localhost:7700"],
    ["null", "localhost:7700"],
    ["http://localhost:7701", "localhost:7700"],
    ["http://localhost", "localhost:7700"],
    ["http://localhost:7700.evil.example", "localhost:7700"],
    ["http://evil.example/localhost:7700", "localhost:7700"],
    ["http://", ""],
    ["http://undefined", undefined],
  ])("refuses %s for %s", (origin, host) => {
    expect(isOwnOrigin(origin, host)).toBe(false);
  });
});
