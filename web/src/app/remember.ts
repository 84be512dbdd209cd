// What the server answered to a change, kept as what the page has read.
import type { InferDataFromTag, QueryClient, QueryKey } from "@tanstack/react-query";

/**
 * remember shows an answer of the server where a query shows what it read. A reading that is under way began before the
 * change: without stopping it first, it would bring back what was.
 */
export async function remember<Key extends QueryKey>(
  client: QueryClient,
  { queryKey }: { queryKey: Key },
  answer: InferDataFromTag<unknown, Key>,
) {
  await client.cancelQueries({ queryKey, exact: true });
  client.setQueryData<unknown, Key>(queryKey, () => answer);
}
