import { invalidField } from "@drover/kernel";

const part = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The pointer of a call's whole result. It is opaque to callers and resolves only within its own
 * conversation: {@link callIdOfPointer} asks for the conversation that it is read in.
 */
export function spillPointer(conversationId: string, callId: string): string {
  return `spill://${conversationId}/${callId}`;
}

/** The call that a pointer names, or undefined when it is not a pointer of this conversation. */
export function callIdOfPointer(conversationId: string, pointer: string): string | undefined {
  const prefix = `spill://${conversationId}/`;
  if (!pointer.startsWith(prefix)) return undefined;
  const callId = pointer.slice(prefix.length);
  return part.test(callId) ? callId : undefined;
}

/** Checks an id that a caller chose (conversation, call); INVALID_ARGUMENT names `field`. */
export function requireToken(field: string, token: string): string {
  if (part.test(token)) return token;
  throw invalidField(field, JSON.stringify(token.slice(0, 80)), "1 to 64 of A-Z, a-z, 0-9, _ and -");
}
