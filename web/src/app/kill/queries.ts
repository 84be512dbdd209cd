import { queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, type Body } from "../../api/client";
import { kill as w } from "../../words/acts";
import { useMay, useOrg } from "../org";
import { fresh } from "../queries";

export type Stop = Body<"StopBody">;
export type Scope = Stop["scope"];
export type Stopped = Pick<Stop, "scope" | "subject">;

const readStops = async (org: string, signal?: AbortSignal) =>
  (
    await api.get("/organization/{orgId}/kill-switch", {
      params: { path: { orgId: org } },
      ...(signal ? { signal } : {}),
    })
  ).items;

/** stopsQuery reads what is stopped now. Nobody is told of another person's kill, so it is read again. */
export const stopsQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "stops"],
    queryFn: ({ signal }) => readStops(org, signal),
    refetchInterval: 10_000,
  });

export const isSame = (a: Stopped, b: Stopped) => a.scope === b.scope && a.subject === b.subject;

/** findStop reads whether something is stopped now. */
export const findStop = async (org: string, wanted: Stopped) => (await readStops(org)).find((s) => isSame(s, wanted));

/** useSettled reads again what a kill changes. */
export function useSettled(): () => Promise<unknown> {
  const org = useOrg();
  const client = useQueryClient();
  return () =>
    Promise.all(
      ["stops", "agents", "overview", "servers"].map((area) => client.invalidateQueries({ queryKey: [org.id, area] })),
    );
}

export const agentSettingsQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "agent-settings"],
    queryFn: ({ signal }) =>
      api.get("/organization/{orgId}/agents/settings", { params: { path: { orgId: org } }, signal }),
    staleTime: fresh.settings,
  });

/** useMayKill is undefined if the person may use the kill switch, else why not. Approvers may if the organization says so. */
export function useMayKill(): string | undefined {
  const org = useOrg();
  const refused = useMay("agents.kill");
  const asks = org.role === "approver" && refused === undefined;
  const settings = useQuery({ ...agentSettingsQuery(org.id), enabled: asks });
  return asks && settings.data?.approversMayKill !== true ? w.approvers : refused;
}

/** LastAllow is what the log says of allows and a stop: the last one stands before it, or something is very wrong. */
export type LastAllow = { is: "none" | "lifted" } | { is: "before" | "behind"; index: number };

/** judgeLast compares the last allow with a stop; stands: whether that stop is still in force. */
export function judgeLast(stop: number, last: number | undefined, stands: boolean): LastAllow {
  if (last === undefined) return { is: "none" };
  if (last < stop) return { is: "before", index: last };
  return stands ? { is: "behind", index: last } : { is: "lifted" };
}

// What narrows the log to the calls of a scope. Tools may be named with or without a server, so nothing does.
function narrowing({ scope, subject }: Stopped): { agent?: string; server?: string } | undefined {
  if (scope === "agent") return { agent: subject };
  if (scope === "server") return { server: subject };
  return scope === "organization" ? {} : undefined;
}

export const hasLast = (stop: Stopped) => narrowing(stop) !== undefined;

/** lastAllowQuery reads the last call that was allowed of what a stop stops. */
export const lastAllowQuery = (org: string, stop: Stop) =>
  queryOptions({
    queryKey: [org, "stops", "last", stop.scope, stop.subject, stop.index],
    queryFn: async ({ signal }) => {
      const page = await api.get("/audit-log/entries", {
        params: {
          query: { organizationId: org, limit: 1, action: "call.decided", decision: ["allow"], ...narrowing(stop) },
        },
        signal,
      });
      const last = page.items[0]?.index;
      const looks = last !== undefined && last > stop.index;
      const stands = looks && (await readStops(org, signal)).some((s) => isSame(s, stop) && s.index === stop.index);
      return judgeLast(stop.index, last, stands);
    },
    staleTime: fresh.never,
    enabled: hasLast(stop),
  });
