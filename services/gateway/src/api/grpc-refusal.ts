import type { OutgoingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { StatusSchema } from "@drover/proto/google/rpc/status";
import { connectErrorFrom } from "@drover/rpc";

/** The trailers that tell a gRPC client of an error, with its typed details. */
export function grpcTrailers(error: unknown): OutgoingHttpHeaders & { readonly "grpc-status": string } {
  const { code, rawMessage, details } = connectErrorFrom(error);
  const packed = details.flatMap((detail) =>
    "type" in detail ? [create(AnySchema, { typeUrl: `type.googleapis.com/${detail.type}`, value: detail.value })] : [],
  );
  const status = toBinary(StatusSchema, create(StatusSchema, { code, message: rawMessage, details: packed }));
  return {
    "grpc-status": String(code),
    "grpc-message": percentEncoded(rawMessage),
    "grpc-status-details-bin": Buffer.from(status).toString("base64").replace(/=+$/, ""),
  };
}

/**
 * Ends a call that has not been answered with an error, as a "Trailers-Only" response
 * (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md). Does nothing where the client is gone.
 */
export function refuseGrpc(stream: ServerHttp2Stream, error: unknown): string {
  const trailers = grpcTrailers(error);
  if (!stream.destroyed && !stream.headersSent) {
    // The rest of the request is read into nothing, or it would hold its window until the stream ends.
    stream.resume();
    stream.respond({ ":status": 200, "content-type": "application/grpc", ...trailers }, { endStream: true });
  }
  return trailers["grpc-status"];
}

/** As the protocol's "Percent-Encoded" asks: printable ASCII but the percent sign stays. */
export function percentEncoded(text: string): string {
  return text.replaceAll(/[^ -$&-~]+/g, (run) => encodeURIComponent(run.toWellFormed()));
}
