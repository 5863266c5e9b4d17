import { expect, test } from "vitest";
import { withTimeout } from "./abort.ts";
import { DroverError, invalidField } from "./errors.ts";

test("whatever is caught becomes one of the vocabulary, and the unknown stays in the cause", () => {
  const secret = new Error("password=hunter2 at db.ts:1");
  const unknown = DroverError.from(secret);
  expect(unknown).toMatchObject({ code: "INTERNAL", message: "Internal error.", cause: secret });
  expect(DroverError.from(unknown)).toBe(unknown);
  expect(DroverError.from(AbortSignal.abort().reason).code).toBe("CANCELLED");
  expect(DroverError.from(new DOMException("late", "TimeoutError")).code).toBe("DEADLINE_EXCEEDED");
  expect(DroverError.from("text").code).toBe("INTERNAL");
});

test("an invalid field says which, what was found and what is allowed", () => {
  expect(invalidField("limits.memory_bytes", "1", "6 MB to 4 GB")).toMatchObject({
    code: "INVALID_ARGUMENT",
    retryable: false,
    message: "limits.memory_bytes: found 1, allowed 6 MB to 4 GB",
    violations: [{ field: "limits.memory_bytes", found: "1", allowed: "6 MB to 4 GB" }],
  });
});

test("a time-out names what took too long, and the parent's abort goes through", async () => {
  const untilAbort = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  await expect(withTimeout("The call", 5, undefined, untilAbort)).rejects.toThrow("The call took longer than 5 ms.");
  const parent = new AbortController();
  const work = withTimeout("The call", 60_000, parent.signal, untilAbort);
  parent.abort(new DroverError("CANCELLED", "stop"));
  await expect(work).rejects.toThrow("stop");
});
