import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { keyOf, targetOf } from "./config.ts";

const made: string[] = [];
afterEach(() => {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true });
});

function folderWithKeys(...profiles: (readonly [name: string, key: string, ageSeconds: number])[]): string {
  const folder = mkdtempSync(join(tmpdir(), "drover-cli-"));
  made.push(folder);
  for (const [name, key, age] of profiles) {
    const file = join(folder, ".drover", name, "api-key");
    mkdirSync(join(folder, ".drover", name), { recursive: true });
    writeFileSync(file, `${key}\n`);
    utimesSync(file, 1_000_000 - age, 1_000_000 - age);
  }
  return folder;
}

const local = targetOf(undefined, {});

test("an address is taken from the option, the variable, or is the default", () => {
  expect(local).toEqual({ url: "http://localhost:7700", address: "localhost:7700", local: true });
  expect(targetOf(undefined, { DROVER_URL: "http://drover.example/" })).toMatchObject({
    url: "http://drover.example",
    address: "drover.example:80",
    local: false,
  });
  expect(targetOf("http://[::1]:1", { DROVER_URL: "http://x" })).toMatchObject({ address: "[::1]:1", local: true });
});

test.each([
  ["https://drover.example", "https is not supported yet"],
  ["localhost:7700", "is no http:// address"],
  ["nonsense", "is no http:// address"],
  ["http://u:p@localhost", "more than a host and a port"],
  ["http://localhost/api", "more than a host and a port"],
])("the address %s is refused", (address, why) => {
  expect(() => targetOf(address, {})).toThrow(
    expect.objectContaining({ message: expect.stringContaining(why), exitCode: 2 }),
  );
});

test("the option's key comes before the variable's, and that before any file's", () => {
  const cwd = folderWithKeys(["embedded", "drv_file", 0]);
  expect(keyOf("drv_a", { DROVER_API_KEY: "drv_b" }, cwd, local)).toEqual({ text: "drv_a", source: "--key" });
  expect(keyOf(undefined, { DROVER_API_KEY: " drv_b\n" }, cwd, local)).toMatchObject({ text: "drv_b" });
  expect(keyOf(undefined, { DROVER_API_KEY: "" }, cwd, local)).toMatchObject({ text: "drv_file" });
});

test("the newest key of the nearest folder upwards is found", () => {
  const folder = folderWithKeys(["embedded", "drv_old", 60], ["distributed", "drv_new", 5]);
  const below = join(folder, "a", "b");
  mkdirSync(below, { recursive: true });
  expect(keyOf(undefined, {}, below, local)).toEqual({
    text: "drv_new",
    source: join(folder, ".drover", "distributed", "api-key"),
  });
});

test("a file's key never goes to another machine, and a key is one word", () => {
  const cwd = folderWithKeys(["embedded", "drv_file", 0]);
  const far = targetOf("http://drover.example", {});
  expect(() => keyOf(undefined, {}, cwd, far)).toThrow(expect.objectContaining({ exitCode: 4 }));
  expect(() => keyOf("two words", {}, cwd, local)).toThrow("--key holds no API key.");
  expect(() => keyOf(undefined, {}, folderWithKeys(), local)).toThrow("There is no API key.");
});
