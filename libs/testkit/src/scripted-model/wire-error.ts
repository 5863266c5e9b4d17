/** A refusal in the shape of OpenAI's error object. */
export interface WireError {
  readonly status: number;
  readonly message: string;
  readonly param: string | null;
  readonly code: string | null;
  readonly type: string;
}

/** 400 for a request that a strict provider refuses. */
export function badRequest(param: string, message: string, code: string | null = "invalid_value"): WireError {
  return { status: 400, message, param, code, type: "invalid_request_error" };
}

/** Any other refusal. */
export function wireError(status: number, message: string, code: string | null = null): WireError {
  return { status, message, param: null, code, type: status >= 500 ? "server_error" : "invalid_request_error" };
}

/** The JSON body of an error answer. */
export function errorBody(error: WireError): string {
  const { message, type, param, code } = error;
  return JSON.stringify({ error: { message, type, param, code } });
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
