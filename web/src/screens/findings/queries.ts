import { queryOptions } from "@tanstack/react-query";
import { api, type Body } from "../../api/client";
import { listQuery, pageSize } from "../../app/queries";

export type Finding = Body<"FindingBody">;
export interface FindingsFilter {
  kind?: Finding["kind"] | undefined;
  state?: "open" | "all" | undefined;
}

/** findingsQuery reads findings, the newest first; open ones unless all are asked for. */
export function findingsQuery(org: string, filter: FindingsFilter) {
  return listQuery([org, "findings", filter], (cursor, signal) =>
    api.get("/audit-log/findings", {
      params: {
        query: {
          organizationId: org,
          limit: pageSize,
          ...(cursor ? { cursor } : {}),
          ...(filter.kind ? { kind: filter.kind } : {}),
          ...(filter.state === "all" ? {} : { open: "true" as const }),
        },
      },
      signal,
    }),
  );
}

/** findingQuery reads one finding. It changes when what was missing comes. */
export const findingQuery = (org: string, findingId: string) =>
  queryOptions({
    queryKey: [org, "findings", "one", findingId],
    queryFn: ({ signal }) =>
      api.get("/audit-log/findings/{findingId}", {
        params: { path: { findingId }, query: { organizationId: org } },
        signal,
      }),
  });
