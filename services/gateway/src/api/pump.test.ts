import { PassThrough } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { pump } from "./pump.ts";

describe("pump", () => {
  it("copies everything, in order, and tells the end", async () => {
    const [source, sink] = [new PassThrough(), new PassThrough()];
    pump(source, sink, () => void sink.end());
    for (let i = 0; i < 100; i++) source.write(String(i));
    source.end();
    let text = "";
    for await (const chunk of sink) text += chunk;
    expect(text).toBe(Array.from({ length: 100 }, (_, i) => i).join(""));
  });

  it("waits for a sink that is full", async () => {
    const [source, sink] = [new PassThrough({ highWaterMark: 10 }), new PassThrough({ highWaterMark: 10 })];
    pump(source, sink, () => {});
    let accepted = 0;
    for (; accepted < 1000 && source.write("0123456789"); accepted++) await turn();
    expect(accepted).toBeLessThan(10);
    sink.resume();
    await turn();
    await turn();
    expect(source.write("x")).toBe(true);
  });

  it("copies nothing after it was stopped", async () => {
    const [source, sink] = [new PassThrough(), new PassThrough()];
    let ended = false;
    const stop = pump(source, sink, () => {
      ended = true;
    });
    stop();
    source.end("late");
    await turn();
    expect([sink.readableLength, ended]).toEqual([0, false]);
  });
});
