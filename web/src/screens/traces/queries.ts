import { queryOptions } from "@tanstack/react-query";
import { api, type Body } from "../../api/client";
import { fresh, listQuery, pageSize } from "../../app/queries";
import { only, type SearchOf } from "../../app/search";
import type { Bounds } from "../../ui/range";
import { tracesSearch } from "./search";

export type Trace = Body<"TraceItemBody">;
export type TraceDetail = Body<"TraceDetailBody">;
export type SpanBody = Body<"SpanBody">;
export type Decision = Body<"TailedDecisionBody">;
export type TracesFilter = SearchOf<typeof tracesSearch>;

/** queryOf is the filter as routes take it, without what else stands in the address: routes refuse that. */
export function queryOf(search: TracesFilter, bounds: Bounds) {
  const { range: _, from: _from, to: _to, cols: _cols, ...filter } = only(tracesSearch, search);
  return { ...filter, ...bounds };
}

export const tracesQuery = (org: string, filter: TracesFilter, bounds: Bounds) => {
  const query = queryOf(filter, bounds);
  return listQuery([org, "traces", query], (cursor, signal) =>
    api.get("/organization/{orgId}/observability/traces", {
      params: { path: { orgId: org }, query: { ...query, limit: pageSize, ...(cursor ? { cursor } : {}) } },
      signal,
    }),
  );
};

/** outlineQuery reads a trace with its spans, without what was said; null: there is none. */
export const outlineQuery = (org: string, id: string) =>
  queryOptions({
    queryKey: [org, "traces", "outline", id],
    queryFn: async ({ signal }): Promise<TraceDetail | null> =>
      (await api.get("/organization/{orgId}/observability/traces/{id}", {
        params: { path: { orgId: org, id }, query: { fields: "outline" } },
        signal,
      })) ?? null,
  });

/** headQuery reads a trace with what was said, without its spans. */
export const headQuery = (org: string, id: string) =>
  queryOptions({
    queryKey: [org, "traces", "head", id],
    queryFn: async ({ signal }): Promise<TraceDetail | null> =>
      (await api.get("/organization/{orgId}/observability/traces/{id}", {
        params: { path: { orgId: org, id }, query: { fields: "head" } },
        signal,
      })) ?? null,
    staleTime: fresh.settings,
  });

export const spanQuery = (org: string, id: string, spanId: string) =>
  queryOptions({
    queryKey: [org, "traces", "span", id, spanId],
    queryFn: async ({ signal }): Promise<SpanBody | null> =>
      (await api.get("/organization/{orgId}/observability/traces/{id}/spans/{spanId}", {
        params: { path: { orgId: org, id, spanId } },
        signal,
      })) ?? null,
    staleTime: fresh.settings,
  });

const mostDecisions = 1000;

/** decisionsQuery reads the decisions that belong to a trace, as the log has them: a thousand at most. */
export const decisionsQuery = (org: string, id: string) =>
  queryOptions({
    queryKey: [org, "traces", "decisions", id],
    queryFn: async ({ signal }) => {
      const items: Decision[] = [];
      let cursor: string | undefined;
      do {
        const page = await api.get("/organization/{orgId}/observability/traces/{id}/decisions", {
          params: { path: { orgId: org, id }, query: { limit: 200, ...(cursor ? { cursor } : {}) } },
          signal,
        });
        items.push(...page.items);
        cursor = page.nextCursor;
      } while (cursor && items.length < mostDecisions);
      return { items, cut: cursor !== undefined };
    },
  });
