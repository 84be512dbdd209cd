import { queryOptions } from "@tanstack/react-query";
import { fresh } from "../../app/queries";
import { type Memory, prove, proveLog } from "../../proof/prove";
import { type Entry, logServerOf, serverOf } from "./queries";

/** memory is the browser's storage; without one, nothing is remembered. */
export function memory(): Memory {
  try {
    return localStorage;
  } catch {
    return { getItem: () => null, setItem: () => fail() };
  }
}

function fail(): never {
  throw new Error("this browser keeps nothing");
}

/** proofQuery proves an entry as it is shown. A proof is kept until somebody checks again, or the entry was read anew. */
export const proofQuery = (org: string, index: string, shown: Entry, readAt: number) =>
  queryOptions({
    queryKey: [org, "audit", "proof", index, readAt],
    queryFn: ({ signal }) => prove(org, Number(index), serverOf(org, index, shown, signal), memory(), new Date()),
    staleTime: fresh.never,
    gcTime: 0,
  });

/** logProofQuery proves the log as a whole. */
export const logProofQuery = (org: string) =>
  queryOptions({
    queryKey: [org, "audit", "log"],
    queryFn: ({ signal }) => proveLog(org, logServerOf(org, signal), memory(), new Date()),
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
