import { queryOptions } from "@tanstack/react-query";
import { api, type Body } from "../../api/client";
import { listQuery, pageSize } from "../../app/queries";
import { only, type SearchOf, uuid } from "../../app/search";
import type { Bounds } from "../../ui/range";
import { sessionsSearch } from "./search";

export type Session = Body<"TelemetrySessionBody">;
export type Trace = Body<"TraceItemBody">;
export type Entry = Body<"EntryBody">;
export type SessionsFilter = SearchOf<typeof sessionsSearch>;

/** queryOf is the filter as routes take it, without what else stands in the address: routes refuse that. */
export function queryOf(search: SessionsFilter, bounds: Bounds) {
  const { range: _, from: _from, to: _to, cols: _cols, ...filter } = only(sessionsSearch, search);
  return { ...filter, ...bounds };
}

export const sessionsQuery = (org: string, filter: SessionsFilter, bounds: Bounds) => {
  const query = queryOf(filter, bounds);
  return listQuery([org, "sessions", query], (cursor, signal) =>
    api.get("/organization/{orgId}/observability/sessions", {
      params: { path: { orgId: org }, query: { ...query, limit: pageSize, ...(cursor ? { cursor } : {}) } },
      signal,
    }),
  );
};

/**
 * sessionQuery reads a session without its traces; null: no trace named it. Traces name sessions by UUIDs, decisions by
 * any text.
 */
export const sessionQuery = (org: string, id: string) =>
  queryOptions({
    queryKey: [org, "sessions", "head", id],
    queryFn: async ({ signal }): Promise<Session | null> =>
      uuid(id) === undefined
        ? null
        : ((await api.get("/organization/{orgId}/observability/sessions/{id}", {
            params: { path: { orgId: org, id }, query: { fields: "head" } },
            signal,
          })) ?? null),
  });

// Pages of 200, until the 50,000 that a session shows.
const most = 250;
const limit = 200;

export const sessionTracesQuery = (org: string, session: Pick<Session, "id" | "startedAt">) =>
  listQuery(
    [org, "sessions", "traces", session.id],
    (cursor, signal) =>
      api.get("/organization/{orgId}/observability/traces", {
        params: {
          path: { orgId: org },
          query: { sessionId: session.id, from: session.startedAt, limit, ...(cursor ? { cursor } : {}) },
        },
        signal,
      }),
    most,
  );

/** sessionEntriesQuery reads the decisions and executions of a session from the log. */
export const sessionEntriesQuery = (org: string, id: string) =>
  listQuery(
    [org, "sessions", "entries", id],
    (cursor, signal) =>
      api.get("/audit-log/entries", {
        params: { query: { organizationId: org, session: id, limit, ...(cursor ? { cursor } : {}) } },
        signal,
      }),
    most,
  );
