import { queryOptions } from "@tanstack/react-query";
import { api, type Body } from "../../api/client";
import { fresh, listQuery, pageSize } from "../../app/queries";
import type { SearchOf } from "../../app/search";
import type { LogServer, Server } from "../../proof/prove";
import { boundsOf } from "../../ui/range";
import type { entryFields } from "./search";

export type Entry = Body<"ProvedEntryBody">;
export type ListedEntry = Body<"EntryBody">;
export type EntrySearch = SearchOf<typeof entryFields>;

/** filterNames are the filters that narrow a list, beside its time. */
export const filterNames = [
  "action",
  "decision",
  "tool",
  "server",
  "agent",
  "policy",
  "rule",
  "session",
  "plan",
  "actor",
] as const;

/** filtersOf counts the filters of a list. */
export const filtersOf = (search: EntrySearch) => filterNames.filter((name) => search[name] !== undefined).length;

const minute = 60_000;

// Without a time all of the log is read; a range that goes on moves with the minute in which it was opened.
function timesOf(search: EntrySearch): { from?: string; until?: string } {
  if (!search.range && !search.from) return {};
  return boundsOf(search, "7d", Math.floor(Date.now() / minute) * minute);
}

/** entriesQuery reads entries, the newest first. Decisions are those of one action. */
export function entriesQuery(org: string, search: EntrySearch, decisions: boolean) {
  const wanted = {
    ...Object.fromEntries(filterNames.map((name) => [name, search[name]])),
    ...(decisions ? { action: "call.decided" } : {}),
  };
  return listQuery([org, "audit", decisions ? "decisions" : "entries", search], (cursor, signal) =>
    api.get("/audit-log/entries", {
      params: {
        query: { organizationId: org, limit: pageSize, ...timesOf(search), ...wanted, ...(cursor ? { cursor } : {}) },
      },
      signal,
    }),
  );
}

/** entryQuery reads one entry with its proof. It never changes but by erasure. */
export const entryQuery = (org: string, index: string) =>
  queryOptions({
    queryKey: [org, "audit", "entry", index],
    queryFn: ({ signal }) =>
      api.get("/audit-log/entries/{index}", { params: { path: { index }, query: { organizationId: org } }, signal }),
    staleTime: fresh.never,
  });

/** policyNamesQuery names policies by their ids. */
export const policyNamesQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "audit", "policies"],
    queryFn: async ({ signal }) => {
      const page = await api.get("/policies", { params: { query: { organizationId: org, limit: 200 } }, signal });
      return new Map(page.items.map((p) => [p.id, p.name]));
    },
    staleTime: fresh.settings,
  });

const keysOf = async (org: string, signal: AbortSignal) => {
  const { key, keys } = await api.get("/audit-log/key", { params: { query: { organizationId: org } }, signal });
  return [key, ...keys.filter((other) => other !== key)];
};

const consistencyOf = async (org: string, from: number, size: number, signal: AbortSignal) => {
  const query = { organizationId: org, from, size };
  return (await api.get("/audit-log/proof/consistency", { params: { query }, signal })).proof;
};

/** serverOf is what a proof of the entry that is shown asks of the server: its receipt is read anew, as of now. */
export function serverOf(org: string, index: string, shown: Entry, signal: AbortSignal): Server {
  return {
    keys: () => keysOf(org, signal),
    consistency: (from, size) => consistencyOf(org, from, size, signal),
    entry: async () => {
      const { receipt } = await api.get("/audit-log/entries/{index}", {
        params: { path: { index }, query: { organizationId: org } },
        signal,
      });
      return { record: shown.record, payload: shown.payloadText, salt: shown.salt, receipt };
    },
  };
}

/** logServerOf is the same for a log as a whole. */
export function logServerOf(org: string, signal: AbortSignal): LogServer {
  return {
    keys: () => keysOf(org, signal),
    consistency: (from, size) => consistencyOf(org, from, size, signal),
    checkpoint: async () =>
      (await api.get("/audit-log/checkpoint", { params: { query: { organizationId: org } }, signal })).checkpoint,
  };
}
