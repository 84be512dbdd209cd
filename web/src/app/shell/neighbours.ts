// The list that a thing was opened from: [ and ] go to what stands before and after it.
import { useEffect } from "react";

let list: string[] = [];

/**
 * useNeighbours says what a list leads to, in its order: /traces and the ids of its rows. It counts until another list
 * says so. The ids must be the same list until they change.
 */
export function useNeighbours<T>(area: string, rows: T[], idOf: (row: T) => string): void {
  useEffect(() => {
    if (rows.length > 0) list = rows.map((row) => pathTo(area, idOf(row)));
  }, [area, rows, idOf]);
}

const pathTo = (area: string, id: string) => `${area}/${encodeURIComponent(id)}`;

/** neighbour is the path before (-1) or after (1) another; entries of the log have neighbours without a list. */
export function neighbour(path: string, step: 1 | -1, from = list): string | undefined {
  const at = from.indexOf(spelled(path));
  if (at >= 0) return from[at + step];
  const index = /^\/audit\/(\d{1,15})$/.exec(path)?.[1];
  const next = Number(index) + step;
  return index === undefined || next < 0 ? undefined : `/audit/${next}`;
}

// Browsers and the router leave other characters as they are; the last part is spelled in one way.
function spelled(path: string): string {
  const cut = path.lastIndexOf("/");
  try {
    return pathTo(path.slice(0, cut), decodeURIComponent(path.slice(cut + 1)));
  } catch {
    return path;
  }
}
