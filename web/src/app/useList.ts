// A long list as screens use it: what a table needs, and a way to begin anew.
import {
  type InfiniteData,
  type UseInfiniteQueryOptions,
  useInfiniteQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { type Page, rowsOf } from "./queries";

type Query<T> = UseInfiniteQueryOptions<Page<T>, Error, InfiniteData<Page<T>>, readonly unknown[], string | undefined>;

/** useList reads a listQuery: spread `table` into a Table; `reload` reads the first page again and drops the others. */
export function useList<T>(query: Query<T>) {
  const client = useQueryClient();
  const list = useInfiniteQuery(query);
  const rows = useMemo(() => rowsOf(list.data), [list.data]);
  const { fetchNextPage, refetch, isFetchNextPageError } = list;
  const loadMore = useCallback(() => void fetchNextPage(), [fetchNextPage]);
  const retry = useCallback(
    () => void (isFetchNextPageError ? fetchNextPage() : refetch()),
    [isFetchNextPageError, fetchNextPage, refetch],
  );
  const reload = () => {
    client.setQueryData<InfiniteData<Page<T>>>(query.queryKey, (old) => firstPage(old));
    void client.invalidateQueries({ queryKey: query.queryKey, exact: true });
  };
  const table = {
    rows,
    loading: list.isPending,
    error: list.error,
    retry,
    hasMore: list.hasNextPage,
    loadMore,
    loadingMore: list.isFetching,
    cut: !list.hasNextPage && (list.data?.pages.at(-1)?.hasMore ?? false),
  };
  return { rows, table, reload, list };
}

function firstPage<T>(data: InfiniteData<Page<T>> | undefined): InfiniteData<Page<T>> | undefined {
  return data && { pages: data.pages.slice(0, 1), pageParams: data.pageParams.slice(0, 1) };
}
