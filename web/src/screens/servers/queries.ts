import { queryOptions, useQueryClient } from "@tanstack/react-query";
import { api, type Body } from "../../api/client";
import { useOrg } from "../../app/org";

export type Server = Body<"MCPServerBody">;
export type Tool = Body<"MCPToolBody">;
export type Finding = Body<"MCPFindingBody">;
export type Findings = Body<"MCPFindingsBody">;
export type Change = Body<"Change">;

const again = 15_000;
const latest = 100;

/** of are the parameters of a route about one server. */
export const of = (org: string, mcpId: string) => ({ path: { mcpId }, query: { organizationId: org } });

export const serversQuery = (org: string, status: Server["status"] | undefined) =>
  queryOptions({
    queryKey: [org, "servers", "list", status ?? ""],
    queryFn: ({ signal }) =>
      api.get("/mcp/servers", { params: { query: { organizationId: org, ...(status ? { status } : {}) } }, signal }),
    refetchInterval: again,
  });

export const readServer = (org: string, id: string, signal?: AbortSignal) =>
  api.get("/mcp/servers/{mcpId}", { params: of(org, id), ...(signal ? { signal } : {}) });

export const serverQuery = (org: string, id: string) =>
  queryOptions({
    queryKey: [org, "servers", "one", id],
    queryFn: ({ signal }) => readServer(org, id, signal),
    refetchInterval: again,
  });

export const readListing = (org: string, id: string, signal?: AbortSignal) =>
  api.get("/mcp/servers/{mcpId}/tools", { params: of(org, id), ...(signal ? { signal } : {}) });

export const readTools = async (org: string, id: string, signal?: AbortSignal) =>
  (await readListing(org, id, signal)).items;

/** listingQuery reads the tools of a server with the hash of all of them, once: what a dialog shows stays as it is. */
export const listingQuery = (org: string, id: string, dialog: string) =>
  queryOptions({
    queryKey: [org, "server-listing", id, dialog],
    queryFn: ({ signal }) => readListing(org, id, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });

export const toolsQuery = (org: string, id: string) =>
  queryOptions({
    queryKey: [org, "servers", "tools", id],
    queryFn: ({ signal }) => readTools(org, id, signal),
    refetchInterval: again,
  });

export const readFindings = (org: string, id: string, signal?: AbortSignal) =>
  api.get("/mcp/servers/{mcpId}/vulnerabilities", { params: of(org, id), ...(signal ? { signal } : {}) });

export const findingsQuery = (org: string, id: string) =>
  queryOptions({
    queryKey: [org, "servers", "findings", id],
    queryFn: ({ signal }) => readFindings(org, id, signal),
  });

export const healthQuery = (org: string, id: string) =>
  queryOptions({
    queryKey: [org, "servers", "health", id],
    queryFn: ({ signal }) => api.get("/mcp/servers/{mcpId}/health", { params: of(org, id), signal }),
    refetchInterval: again,
  });

/** callsQuery reads how often each tool was called. */
export const callsQuery = (org: string, id: string) =>
  queryOptions({
    queryKey: [org, "servers", "calls", id],
    queryFn: ({ signal }) => api.get("/mcp/servers/{mcpId}/telemetry", { params: of(org, id), signal }),
  });

/** latestQuery reads the latest decisions about a server, which say who asked. */
export const latestQuery = (org: string, name: string) =>
  queryOptions({
    queryKey: [org, "servers", "latest", name],
    queryFn: async ({ signal }) => {
      const query = { organizationId: org, action: "call.decided", server: name, limit: latest };
      return (await api.get("/audit-log/entries", { params: { query }, signal })).items;
    },
  });

/** useAgain reads again what belongs to servers. */
export function useAgain(): () => Promise<unknown> {
  const org = useOrg();
  const client = useQueryClient();
  return () => client.invalidateQueries({ queryKey: [org.id, "servers"] });
}
