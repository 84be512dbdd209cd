import type { QueryClient, QueryKey } from "@tanstack/react-query";

/**
 * readAgain reads again what is shown, because something happened to it. A first reading that is under way may have
 * missed it, and the cache would not begin another one: that is waited for.
 */
export async function readAgain(client: QueryClient, queryKey: QueryKey): Promise<void> {
  const first = client
    .getQueryCache()
    .findAll({ queryKey, fetchStatus: "fetching", predicate: (query) => query.state.data === undefined });
  await Promise.allSettled(first.map((query) => query.promise));
  await client.invalidateQueries({ queryKey });
}
