import { queryOptions } from "@tanstack/react-query";
import { api, type Body } from "../../api/client";

export type Certificate = Body<"CertificateBody">;

const again = 15_000;

/** latest is how many certificates are shown. */
export const latest = 50;

export const ofAgentQuery = (org: string, agentId: string) =>
  queryOptions({
    queryKey: [org, "certificates", "agent", agentId],
    queryFn: ({ signal }) =>
      api.get("/certificate", { params: { query: { organizationId: org, agentId, limit: latest } }, signal }),
    refetchInterval: again,
  });

export const ofServerQuery = (org: string, mcpId: string) =>
  queryOptions({
    queryKey: [org, "certificates", "server", mcpId],
    queryFn: ({ signal }) =>
      api.get("/mcp/certificates", { params: { query: { organizationId: org, mcpId, limit: latest } }, signal }),
    refetchInterval: again,
  });
