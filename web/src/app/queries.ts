// How screens read: one cache, keyed [organization, area, parameters].
import { type InfiniteData, infiniteQueryOptions, QueryClient, queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import { statusOf } from "../api/errors";
import { onSignOut } from "../auth/session";

/** How long what was read counts as fresh, in milliseconds. */
export const fresh = { list: 10_000, settings: 60_000, never: Number.POSITIVE_INFINITY };

const retried = new Set([0, 502, 503, 504]);

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: fresh.list,
      retry: (failures, error) => failures < 2 && retried.has(statusOf(error)),
      retryDelay: (attempt) => 500 * 2 ** attempt,
      refetchOnWindowFocus: true,
    },
    // A write may have been done. Offline it fails at once: it must not be sent later, by itself.
    mutations: { retry: false, networkMode: "always" },
  },
});

onSignOut(() => queryClient.clear());

export const meQuery = queryOptions({
  queryKey: ["me"],
  queryFn: ({ signal }) => api.get("/auth/me", { signal }),
  staleTime: fresh.settings,
});

export const optionsQuery = queryOptions({
  queryKey: ["options"],
  queryFn: ({ signal }) => api.get("/auth/options", { signal }),
  staleTime: fresh.never,
});

/** A page of a list, as every list of the API answers. */
export interface Page<T> {
  items: T[];
  nextCursor?: string | undefined;
  hasMore: boolean;
}

export const pageSize = 100;
const mostPages = 20;

/**
 * listQuery reads a list page by page: give it to useList. Nothing reads a long list again by itself, because that is
 * one request for each page that was loaded.
 */
export function listQuery<T>(
  key: readonly unknown[],
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<T>>,
  most = mostPages,
) {
  return infiniteQueryOptions({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => read(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last, pages) => (last.hasMore && pages.length < most ? last.nextCursor : undefined),
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    refetchOnMount: (query) => (query.state.data?.pages.length ?? 0) <= 1,
  });
}

/** rowsOf is all rows that were loaded. */
export function rowsOf<T>(data: InfiniteData<Page<T>> | undefined): T[] {
  return data?.pages.flatMap((page) => page.items) ?? [];
}
