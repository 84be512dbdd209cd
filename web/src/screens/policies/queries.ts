import { queryOptions, useQueryClient } from "@tanstack/react-query";
import { api, type Body, send } from "../../api/client";
import { errorOf } from "../../api/errors";
import { useOrg } from "../../app/org";
import { fresh } from "../../app/queries";
import type { Schema } from "../../ui/editor/help";

export type Listed = Body<"ListedPolicyBody">;
export type Policy = Body<"PolicyBody">;
export type Version = Body<"VersionBody">;
export type Bindings = Body<"PolicyBindingsBody">;
export type Change = Body<"ChangeBody">;
export type Finding = Body<"PolicyFindingBody">;
export type Replay = Body<"ReplayBody">;
export type ListedReplay = Body<"ListedReplayBody">;
export type ReplayChange = Body<"ReplayChangeBody">;
export type Proposal = Body<"ProposalBody">;
export type ListedProposal = Body<"ListedProposalBody">;
export type Stats = Body<"PolicyStatsBody">;

/** The days of figures, findings and usual replays. */
export const usualDays = 7;
const again = 15_000;

export const inOrg = (org: string) => ({ query: { organizationId: org } });
export const at = (policyId: string) => ({ path: { policyId } });

export const policiesQuery = (org: string, status: Listed["status"] | undefined) =>
  queryOptions({
    queryKey: [org, "policies", "list", status ?? ""],
    queryFn: ({ signal }) =>
      api.get("/policies", {
        params: { query: { organizationId: org, limit: 200, ...(status ? { status } : {}) } },
        signal,
      }),
    refetchInterval: again,
  });

export const readPolicy = (id: string, signal?: AbortSignal) =>
  api.get("/policies/{policyId}", { params: at(id), ...(signal ? { signal } : {}) });

export const policyQuery = (org: string, id: string) =>
  queryOptions({
    queryKey: [org, "policies", "one", id],
    queryFn: ({ signal }) => readPolicy(id, signal),
    refetchInterval: again,
  });

/** textQuery is a version as it was written. Versions never change. */
export const textQuery = (org: string, id: string, version: number) =>
  queryOptions({
    queryKey: [org, "policies", "text", id, version],
    queryFn: ({ signal }) => readText(id, version, signal),
    staleTime: fresh.never,
  });

export async function readText(id: string, version: number, signal?: AbortSignal): Promise<string> {
  const path = `/policies/yaml/export/${encodeURIComponent(id)}?version=${version}`;
  const answer = await send(new Request(path, signal ? { signal } : {}));
  const text = await answer.text();
  if (!answer.ok) throw errorOf(answer, text);
  return text;
}

/** statsQuery reads how a policy decided, and what one version of it would have as a shadow; null: all that ran as one. */
export const statsQuery = (org: string, id: string, shadow: number | null = null) =>
  queryOptions({
    queryKey: [org, "policies", "stats", id, shadow],
    queryFn: ({ signal }) =>
      api.get("/organization/{orgId}/observability/policies/{policyId}", {
        params: {
          path: { orgId: org, policyId: id },
          query: { days: usualDays, ...(shadow ? { shadowVersion: shadow } : {}) },
        },
        signal,
      }),
    refetchInterval: again,
  });

export const versionsQuery = (org: string, id: string) =>
  queryOptions({
    queryKey: [org, "policies", "versions", id],
    queryFn: ({ signal }) =>
      api.get("/policies/{policyId}/versions", { params: { ...at(id), query: { limit: 100 } }, signal }),
  });

export const diffQuery = (org: string, id: string, from: number, to: number) =>
  queryOptions({
    queryKey: [org, "policies", "diff", id, from, to],
    queryFn: async ({ signal }) =>
      (await api.get("/policies/{policyId}/diff", { params: { ...at(id), query: { from, to } }, signal })).changes,
    staleTime: fresh.never,
  });

export const readBindings = (id: string, signal?: AbortSignal) =>
  api.get("/policies/{policyId}/bindings", { params: at(id), ...(signal ? { signal } : {}) });

export const bindingsQuery = (org: string, id: string) =>
  queryOptions({
    queryKey: [org, "policies", "bindings", id],
    queryFn: ({ signal }) => readBindings(id, signal),
  });

export const findingsQuery = (org: string, id: string, version: number, days: number | undefined) =>
  queryOptions({
    queryKey: [org, "policies", "findings", id, version, days ?? 0],
    queryFn: ({ signal }) =>
      api.get("/policies/{policyId}/findings", {
        params: { ...at(id), query: { version, ...(days ? { days } : {}) } },
        signal,
      }),
  });

/** ends reports whether a replay has ended. */
export const ended = (r: Pick<ListedReplay, "state">) => r.state !== "waiting" && r.state !== "running";

export const replaysQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "policies", "replays"],
    queryFn: async ({ signal }) => (await api.get("/policy-replays", { params: inOrg(org), signal })).items,
  });

export const replayQuery = (org: string, id: string) =>
  queryOptions({
    queryKey: [org, "policies", "replay", id],
    queryFn: ({ signal }) =>
      api.get("/policy-replays/{replayId}", { params: { path: { replayId: id }, ...inOrg(org) }, signal }),
    refetchInterval: (query) => (query.state.data && ended(query.state.data) ? false : 500),
    staleTime: fresh.list,
  });

export const schemaQuery = queryOptions({
  queryKey: ["policy-schema"],
  queryFn: async ({ signal }) => {
    const answer = await send(new Request("/policies/schema", { signal }));
    if (!answer.ok) throw errorOf(answer, await answer.text());
    return (await answer.json()) as Schema;
  },
  staleTime: fresh.never,
});

export const proposalsQuery = (org: string, state?: ListedProposal["state"]) =>
  queryOptions({
    queryKey: [org, "policies", "proposals", state ?? ""],
    queryFn: ({ signal }) =>
      api.get("/policies/profiles/proposals", {
        params: { query: { organizationId: org, limit: 200, ...(state ? { state } : {}) } },
        signal,
      }),
    refetchInterval: again,
  });

export const readProposal = (org: string, id: string, signal?: AbortSignal) =>
  api.get("/policies/profiles/proposals/{id}", {
    params: { path: { id }, ...inOrg(org) },
    ...(signal ? { signal } : {}),
  });

export const proposalQuery = (org: string, id: string) =>
  queryOptions({
    queryKey: [org, "policies", "proposal", id],
    queryFn: ({ signal }) => readProposal(org, id, signal),
    refetchInterval: again,
  });

/** A document as YAML, for the routes that take it as their body. */
export const asYaml = (text: string) => ({
  body: text as never,
  bodySerializer: (body: unknown) => body as string,
  headers: { "Content-Type": "application/yaml" },
});

/** useAgain reads again what belongs to policies. */
export function useAgain(): () => Promise<unknown> {
  const org = useOrg();
  const client = useQueryClient();
  return () => client.invalidateQueries({ queryKey: [org.id, "policies"] });
}

export const templatesQuery = queryOptions({
  queryKey: ["policy-templates"],
  queryFn: async ({ signal }) => (await api.get("/policies/templates", { signal })).items,
  staleTime: fresh.never,
});

/** templateQuery is a template as it is written, with its comments. */
export const templateQuery = (name: string) =>
  queryOptions({
    queryKey: ["policy-templates", name],
    queryFn: async ({ signal }) => {
      const answer = await send(new Request(`/policies/yaml/templates/${encodeURIComponent(name)}`, { signal }));
      const text = await answer.text();
      if (!answer.ok) throw errorOf(answer, text);
      return text;
    },
    staleTime: fresh.never,
  });
