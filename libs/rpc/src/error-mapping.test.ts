import { Code, ConnectError } from "@connectrpc/connect";
import { DroverError, type ErrorCode, invalidField } from "@drover/kernel";
import { ErrorInfoSchema } from "@drover/proto/google/rpc/error_details";
import { Metadata, type StatusObject, status } from "@grpc/grpc-js";
import fc from "fast-check";
import { expect, test } from "vitest";
import { connectErrorFrom, droverErrorFrom, statusOf } from "./error-mapping.ts";

const codes: readonly ErrorCode[] = [
  "INVALID_ARGUMENT",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "UNAUTHENTICATED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "RESOURCE_EXHAUSTED",
  "DEADLINE_EXCEEDED",
  "CANCELLED",
  "UNAVAILABLE",
  "UNIMPLEMENTED",
  "INTERNAL",
];

/** What grpc-js gives a client for the status that a server sent. */
function received(sent: StatusObject): Error {
  return Object.assign(new Error("grpc"), { ...sent });
}

const errors = fc.record({
  code: fc.constantFrom(...codes),
  message: fc.string({ maxLength: 200 }),
  retryable: fc.boolean(),
  reason: fc.stringMatching(/^[A-Z_]{1,30}$/),
  retryAfterMs: fc.option(fc.integer({ min: 0, max: 1e9 }), { nil: undefined }),
  metadata: fc.dictionary(fc.stringMatching(/^[a-z_]{1,20}$/), fc.string({ maxLength: 50 }), { maxKeys: 5 }),
  violations: fc.array(
    fc.record({
      field: fc.string({ maxLength: 40 }),
      found: fc.string({ maxLength: 40 }),
      allowed: fc.string({ maxLength: 40 }).filter((text) => !text.includes(", allowed ")),
    }),
    { maxLength: 5 },
  ),
});

test("what a caller may see survives gRPC and Connect both", () => {
  fc.assert(
    fc.property(errors, ({ code, message, retryAfterMs, ...rest }) => {
      const error = new DroverError(code, message, {
        ...rest,
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      });
      for (const decoded of [droverErrorFrom(received(statusOf(error))), droverErrorFrom(connectErrorFrom(error))]) {
        expect({ ...decoded, message: decoded.message }).toEqual({ ...error, message: message.toWellFormed() });
      }
    }),
  );
});

test("what is too long or too many is cut, so that the trailers stay small", () => {
  const long = "ü\ud800".repeat(5000);
  const violations = Array.from({ length: 500 }, () => ({ field: long, found: long, allowed: long }));
  const metadata = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`key_${i}`, long]));
  const sent = statusOf(new DroverError("INVALID_ARGUMENT", long, { violations, metadata }));
  expect(() => encodeURI(sent.details)).not.toThrow();
  expect(
    Buffer.concat(sent.metadata.get("grpc-status-details-bin").map((part) => Buffer.from(part))).length,
  ).toBeLessThan(16_000);
  expect(droverErrorFrom(received(sent)).violations).toHaveLength(10);
});

test("an unknown error says nothing of itself", () => {
  const sent = statusOf(droverErrorFrom(new Error('relation "secret" does not exist at line 3')));
  expect(sent.code).toBe(status.INTERNAL);
  expect(sent.details).toBe("Internal error.");
  expect(JSON.stringify(sent.metadata.toJSON())).not.toContain("secret");
  expect(Buffer.concat(sent.metadata.get("grpc-status-details-bin") as Buffer[]).toString()).not.toContain("secret");
});

test("codes that Drover does not have become INTERNAL, OUT_OF_RANGE becomes INVALID_ARGUMENT", () => {
  expect(droverErrorFrom(new ConnectError("sql text", Code.Unknown))).toMatchObject({
    code: "INTERNAL",
    message: "Internal error.",
  });
  expect(droverErrorFrom(new ConnectError("lost", Code.DataLoss)).code).toBe("INTERNAL");
  expect(droverErrorFrom(new ConnectError("range", Code.OutOfRange))).toMatchObject({
    code: "INVALID_ARGUMENT",
    message: "range",
  });
});

test("details that are not ours, or broken, are passed over", () => {
  const metadata = new Metadata();
  metadata.set("grpc-status-details-bin", Buffer.from([0xff, 0xff, 0xff]));
  const broken = received({ code: status.NOT_FOUND, details: "gone", metadata });
  expect(droverErrorFrom(broken)).toMatchObject({ code: "NOT_FOUND", message: "gone", reason: "NOT_FOUND" });
});

test("a Connect error carries details that its own tools find", () => {
  const error = connectErrorFrom(invalidField("text", '"x"', '"y"'));
  expect(error.code).toBe(Code.InvalidArgument);
  expect(error.findDetails(ErrorInfoSchema)).toMatchObject([{ reason: "INVALID_ARGUMENT", domain: "drover" }]);
});
