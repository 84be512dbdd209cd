import type { ReactNode } from "react";
import { ErrorBanner, ErrorPanel, SkeletonLines } from "./states";

/** What a query knows: useQuery's answer has all of it. */
export interface Answer<T> {
  data: T | undefined;
  error: unknown;
  refetch: () => unknown;
}

interface LoadedProps<T> {
  query: Answer<T>;
  /** The shape of what comes; lines unless given. */
  skeleton?: ReactNode;
  children: (data: T) => ReactNode;
}

/**
 * Loaded shows what a query read. Before that, the shape of it or what failed; after it, a failure is a banner, and
 * what was read stays.
 */
export function Loaded<T>({ query, skeleton, children }: LoadedProps<T>) {
  const retry = () => void query.refetch();
  if (query.data === undefined) {
    return query.error ? <ErrorPanel error={query.error} retry={retry} /> : (skeleton ?? <SkeletonLines lines={6} />);
  }
  return (
    <>
      {query.error != null && <ErrorBanner error={query.error} retry={retry} />}
      {children(query.data)}
    </>
  );
}
