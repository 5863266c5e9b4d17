import { describe, expect, it } from "vitest";
import { forwardedHeaders, isForwarded, returnedHeaders } from "./forwarded-headers.ts";

describe("forwardedHeaders", () => {
  it("keeps what gRPC and the caller's own metadata need", () => {
    const headers = {
      "content-type": "application/grpc+proto",
      "grpc-encoding": "gzip",
      "grpc-accept-encoding": "identity,gzip",
      "user-agent": "grpc-node-js/1.14",
      "my-key-bin": "AAE=",
    };
    expect(forwardedHeaders(headers)).toEqual(headers);
  });

  it.each([
    "x-drover-identity",
    "x-drover-anything",
    "x-tenant-id",
    "x-forwarded-for",
    "x-forwarded-user",
    "forwarded",
    "x-real-ip",
    "authorization",
    "cookie",
    "te",
    "connection",
    ":authority",
    ":path",
    "grpc-timeout",
    "traceparent",
  ])("drops %s", (name) => {
    expect(isForwarded(name)).toBe(false);
    expect(forwardedHeaders({ [name]: "forged" })).toEqual({});
  });
});

describe("returnedHeaders", () => {
  it("keeps the status of HTTP and of gRPC and drops what is internal", () => {
    expect(
      returnedHeaders({ ":status": "200", "grpc-status": "0", "x-drover-identity": "t", connection: "close" }),
    ).toEqual({ ":status": "200", "grpc-status": "0" });
  });
});
