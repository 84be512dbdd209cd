// The one way to the server: typed by the document of its routes, with exact
// numbers, and with the access token of this tab.
import createClient, { type FetchResponse, type MaybeOptionalInit } from "openapi-fetch";
import type { HttpMethod, PathsWithMethod } from "openapi-typescript-helpers";
import { proved, wantsProof } from "../auth/proof";
import { backAgain, currentToken, renewToken } from "../auth/session";
import { words } from "../words/en";
import { ApiError, errorOf, unreachable } from "./errors";
import { parseJson, writeExact } from "./exact";
import type { components, paths } from "./schema";

/** Body is a schema of the document by its name: Body<"FindingBody">. */
export type Body<Name extends keyof components["schemas"]> = components["schemas"][Name];

type Method = "get" | "post" | "put" | "patch" | "delete";
type Operation<P extends keyof paths, M extends HttpMethod> = M extends keyof paths[P] ? paths[P][M] : never;
type Init<P extends keyof paths, M extends HttpMethod> = MaybeOptionalInit<paths[P], M & keyof paths[P]>;
type Answer<P extends keyof paths, M extends HttpMethod> =
  Operation<P, M> extends Record<string | number, unknown>
    ? NonNullable<FetchResponse<Operation<P, M>, unknown, "application/json">["data"]>
    : never;
type Rest<P extends keyof paths, M extends HttpMethod> =
  undefined extends Init<P, M>
    ? [init?: Init<P, M> & { signal?: AbortSignal }]
    : [init: Init<P, M> & { signal?: AbortSignal }];

const client = createClient<paths>({
  baseUrl: "/",
  bodySerializer: (body) => writeExact(body, 0),
  fetch: (request) => send(request),
  // Lists are commas, as every route reads them.
  querySerializer: { array: { style: "form", explode: false } },
});

/**
 * send adds the access token, and renews it once if the server refuses it. If the session ended, what was asked waits
 * until the same person has signed in again: nothing is lost. What asks for the second factor waits for its proof.
 */
export async function send(request: Request): Promise<Response> {
  const [retry, again] = [request.clone(), request.clone()];
  const token = (await currentToken()) ?? (await backAgain(request.signal));
  const first = await attempt(request, token);
  if ((await wantsProof(first)) && (await proved())) return attempt(again, await currentToken());
  if (first.status !== 401 || !token) return first;
  const renewed = (await renewToken(token)) ?? (await backAgain(request.signal));
  return renewed ? attempt(retry, renewed) : first;
}

/**
 * How long an answer may begin to come, in milliseconds. The server gives up before; what takes longer has lost its way,
 * and whoever waits is told so. What came is read for as long as it takes.
 */
const longest = 75_000;

async function attempt(request: Request, token: string | undefined): Promise<Response> {
  if (token) request.headers.set("Authorization", `Bearer ${token}`);
  const { signal } = request;
  const stopped = new AbortController();
  const stop = () => stopped.abort(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener("abort", stop);
  const timer = setTimeout(() => stopped.abort(), longest);
  try {
    return await fetch(request, { signal: stopped.signal });
  } catch (cause) {
    if (signal.aborted) throw cause;
    throw unreachable(cause);
  } finally {
    clearTimeout(timer);
  }
}

async function call<M extends Method, P extends PathsWithMethod<paths, M>>(
  method: M,
  path: P,
  init: unknown,
): Promise<Answer<P, M>> {
  refuseDots(init);
  const { data, error, response } = await client.request(
    method,
    path as never,
    { ...(init as object), parseAs: "text" } as never,
  );
  if (!response.ok) throw errorOf(response, typeof error === "string" ? error : JSON.stringify(error ?? ""));
  return (data ? parseJson(data as string) : undefined) as Answer<P, M>;
}

// Browsers resolve these two, however they are written: the address would be another one.
function refuseDots(init: unknown) {
  const path = (init as { params?: { path?: Record<string, unknown> } } | undefined)?.params?.path ?? {};
  for (const [name, value] of Object.entries(path))
    if (value === "." || value === "..")
      throw new ApiError(400, words.errors.dots, "", [{ field: name, message: words.errors.dots }]);
}

/** Typed calls: api.get("/audit-log/findings", { params: { query } }). They throw an ApiError. */
export const api = {
  get: <P extends PathsWithMethod<paths, "get">>(path: P, ...rest: Rest<P, "get">) => call("get", path, rest[0]),
  post: <P extends PathsWithMethod<paths, "post">>(path: P, ...rest: Rest<P, "post">) => call("post", path, rest[0]),
  put: <P extends PathsWithMethod<paths, "put">>(path: P, ...rest: Rest<P, "put">) => call("put", path, rest[0]),
  patch: <P extends PathsWithMethod<paths, "patch">>(path: P, ...rest: Rest<P, "patch">) =>
    call("patch", path, rest[0]),
  delete: <P extends PathsWithMethod<paths, "delete">>(path: P, ...rest: Rest<P, "delete">) =>
    call("delete", path, rest[0]),
};
