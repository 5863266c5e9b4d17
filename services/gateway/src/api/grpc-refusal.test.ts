import { fromBinary } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { invalidField } from "@drover/kernel";
import { BadRequestSchema } from "@drover/proto/google/rpc/error_details";
import { StatusSchema } from "@drover/proto/google/rpc/status";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { grpcTrailers, percentEncoded } from "./grpc-refusal.ts";

describe("grpcTrailers", () => {
  it("carries code, message and details", () => {
    const trailers = grpcTrailers(invalidField("grpc-timeout", '"x"', "digits"));
    expect(trailers["grpc-status"]).toBe("3");
    const status = fromBinary(StatusSchema, Buffer.from(String(trailers["grpc-status-details-bin"]), "base64"));
    const details = status.details.map((detail) => anyUnpack(detail, BadRequestSchema));
    expect(details).toContainEqual(
      expect.objectContaining({ fieldViolations: [expect.objectContaining({ field: "grpc-timeout" })] }),
    );
  });

  it("shows nothing of an unknown error", () => {
    expect(grpcTrailers(new Error("password hunter2"))["grpc-message"]).toBe("Internal error.");
  });
});

describe("percentEncoded", () => {
  it("is printable ASCII and is read back", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const encoded = percentEncoded(text);
        expect(encoded).toMatch(/^[ -~]*$/);
        expect(decodeURIComponent(encoded)).toBe(text);
      }),
    );
  });
});
