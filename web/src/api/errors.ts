import { words } from "../words/en";

/** ApiError is an answer that is no success, or none at all (status 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly requestId = "",
    readonly details: { field: string; message: string }[] = [],
    /** Seconds to wait, of a 429. */
    readonly retryAfter = 0,
    /** Names the refusal where its status does not say enough; empty: it does. */
    readonly code = "",
  ) {
    super(message);
    this.name = "ApiError";
  }

  /** What the server says about one field of what was sent. */
  field(name: string): string | undefined {
    return this.details.find((d) => d.field === name)?.message;
  }
}

/** errorOf reads an answer that is no success. */
export function errorOf(response: Response, text: string): ApiError {
  let body: { message?: unknown; requestId?: unknown; details?: unknown; code?: unknown } = {};
  try {
    body = JSON.parse(text) ?? {};
  } catch {
    // A proxy in between answers in its own words.
  }
  return new ApiError(
    response.status,
    typeof body.message === "string" ? body.message : words.errors.answered(response.status),
    typeof body.requestId === "string" ? body.requestId : (response.headers.get("X-Request-Id") ?? ""),
    Array.isArray(body.details) ? body.details : [],
    Number(response.headers.get("Retry-After")) || 0,
    typeof body.code === "string" ? body.code : "",
  );
}

/** unreachable is the failure of a request that got no answer. */
export function unreachable(cause: unknown): ApiError {
  const error = new ApiError(0, words.errors.away);
  error.cause = cause;
  return error;
}

/** statusOf is the HTTP status of a failure: 0 without an answer, -1 for what is no answer's fault. */
export function statusOf(error: unknown): number {
  return error instanceof ApiError ? error.status : -1;
}
