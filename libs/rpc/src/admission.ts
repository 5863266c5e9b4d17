import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { DroverError } from "@drover/kernel";
import { scope as scopeOption } from "@drover/proto/common/v1/options";
import type { Metadata } from "@grpc/grpc-js";
import type { Caller } from "./caller.ts";
import { identityHeader } from "./identity-minter.ts";
import type { IdentityVerifier } from "./identity-verifier.ts";
import { metadataBytes } from "./metadata.ts";

/** The scope that a method's option names; undefined where it names none, and nobody may call it. */
function scopeOf(method: DescMethod): string | undefined {
  const scope = hasOption(method, scopeOption) ? getOption(method, scopeOption) : "";
  return scope === "" ? undefined : scope;
}

/**
 * Whether a call may run, and for whom. The check of a known token is synchronous. Throws (or rejects
 * with) RESOURCE_EXHAUSTED for too much metadata, UNAUTHENTICATED for a missing or refused identity,
 * PERMISSION_DENIED for a missing scope.
 */
export function createAdmission(
  method: DescMethod,
  identity: IdentityVerifier,
  maxMetadataBytes: number,
): (metadata: Metadata) => Caller | Promise<Caller> {
  const needed = scopeOf(method);
  const authorized = (caller: Caller): Caller => {
    if (needed !== undefined && caller.scopes.includes(needed)) return caller;
    throw denied(method, needed);
  };
  return (metadata) => {
    const bytes = metadataBytes(metadata);
    if (bytes > maxMetadataBytes) throw tooMuchMetadata(bytes, maxMetadataBytes);
    const tokens = metadata.get(identityHeader);
    const token = tokens[0];
    if (tokens.length !== 1 || typeof token !== "string") throw unauthenticated(tokens.length);
    const caller = identity.verify(token);
    return caller instanceof Promise ? caller.then(authorized) : authorized(caller);
  };
}

function denied(method: DescMethod, needed: string | undefined): DroverError {
  return needed === undefined
    ? new DroverError("PERMISSION_DENIED", `${method.name} is open to nobody.`, { reason: "METHOD_CLOSED" })
    : new DroverError("PERMISSION_DENIED", `${method.name} needs the scope "${needed}".`, {
        reason: "SCOPE_MISSING",
        metadata: { scope: needed },
      });
}

function unauthenticated(found: number): DroverError {
  const message = found === 0 ? "The call carries no identity." : "The call carries more than one identity.";
  return new DroverError("UNAUTHENTICATED", message, { reason: "IDENTITY_MISSING" });
}

function tooMuchMetadata(found: number, allowed: number): DroverError {
  return new DroverError("RESOURCE_EXHAUSTED", `metadata: found ${found} bytes, allowed ${allowed}.`, {
    reason: "METADATA_TOO_LARGE",
    retryable: false,
  });
}
