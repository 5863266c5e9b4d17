import fc from "fast-check";
import { expect, test } from "vitest";
import { reachedLimit } from "./session-share.ts";

test("the limit that is reached is named", () => {
  const share = { sessions: 2, memoryBytes: 100 };
  expect(reachedLimit({ sessions: 1, memoryBytes: 40 }, 60, share)).toBeUndefined();
  expect(reachedLimit({ sessions: 2, memoryBytes: 40 }, 10, share)).toMatchObject({
    limit: "DROVER_SANDBOX_SESSIONS_PER_TENANT",
  });
  expect(reachedLimit({ sessions: 1, memoryBytes: 40 }, 61, share)).toEqual({
    limit: "DROVER_SANDBOX_SESSION_MEMORY_PER_TENANT",
    full: "sessions of this tenant hold 40 bytes of memory, its share is 100 bytes",
  });
});

test("a tenant always gets its first session, and none over its share after it", () => {
  const size = fc.integer({ min: 1, max: 1000 });
  fc.assert(
    fc.property(size, size, size, (sessions, memoryBytes, each) => {
      const share = { sessions, memoryBytes };
      let open = { sessions: 0, memoryBytes: 0 };
      while (reachedLimit(open, each, share) === undefined) {
        open = { sessions: open.sessions + 1, memoryBytes: open.memoryBytes + each };
      }
      expect(open.sessions).toBe(Math.min(sessions, Math.max(1, Math.floor(memoryBytes / each))));
    }),
  );
});
