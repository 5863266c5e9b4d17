import { describe, expect, it } from "vitest";
import { formatApiKey, parseApiKey } from "../domain/api-key.ts";
import { createKeyVault } from "./key-vault.ts";
import { createTextSigner } from "./text-signer.ts";

describe("createKeyVault", () => {
  it("generates keys that are keys and never twice the same", () => {
    const vault = createKeyVault(undefined);
    const texts = Array.from({ length: 100 }, () => formatApiKey(vault.generate()));
    for (const text of texts) expect(parseApiKey(text)).toBeDefined();
    expect(new Set(texts).size).toBe(100);
  });

  it("binds a digest to the id and the pepper", () => {
    const digest = (pepper: string, id: string) =>
      Buffer.from(createKeyVault(pepper).digest("hmac-sha256", id, "s")).toString("hex");
    expect(digest("p", "a")).toBe(digest("p", "a"));
    expect(new Set([digest("p", "a"), digest("p", "b"), digest("q", "a")]).size).toBe(3);
  });

  it("says what is missing when a peppered key meets no pepper", () => {
    expect(() => createKeyVault(undefined).digest("hmac-sha256", "a", "s")).toThrow(/DROVER_KEY_PEPPER/);
  });

  it("compares only equal lengths", () => {
    const { equal } = createKeyVault(undefined);
    expect([equal(Uint8Array.of(1), Uint8Array.of(1)), equal(Uint8Array.of(1), Uint8Array.of(1, 2))]).toEqual([
      true,
      false,
    ]);
  });
});

describe("createTextSigner", () => {
  const signer = createTextSigner(Buffer.alloc(32, 1));

  it("opens what it signed", () => expect(signer.open(signer.sign("1.abc.5"))).toBe("1.abc.5"));

  it("refuses every changed character and another secret", () => {
    const signed = signer.sign("1.abc.5");
    for (let i = 0; i < signed.length - 1; i++) {
      const changed = signed.slice(0, i) + (signed[i] === "A" ? "B" : "A") + signed.slice(i + 1);
      expect(signer.open(changed)).toBeUndefined();
    }
    expect(createTextSigner(Buffer.alloc(32, 2)).open(signed)).toBeUndefined();
    expect([signer.open(""), signer.open("."), signer.open("é".repeat(43))]).toEqual([undefined, undefined, undefined]);
  });
});
