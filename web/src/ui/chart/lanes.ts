/** Series is one quantity over time. Its colour is the name of a token. */
export interface Series {
  name: string;
  color: string;
  values: number[];
}

/** Lane is what one chart draws. */
export interface Lane {
  name: string;
  kind: "bars" | "line";
  series: Series[];
}

/** widthOf is how long a bucket is, in seconds. */
export const widthOf = (buckets: number[]) => (buckets[1] ?? (buckets[0] ?? 0) + 3600) - (buckets[0] ?? 0);

/** stack puts series on top of each other; the whole comes first, so that the parts are drawn over it. */
export function stack(series: Series[]): Series[] {
  const stacked: Series[] = [];
  let below: number[] = [];
  for (const s of series) {
    below = s.values.map((v, i) => v + (below[i] ?? 0));
    stacked.unshift({ ...s, values: below });
  }
  return stacked;
}

/** Six series at most have a colour; the others are one. */
export function atMostSix(series: Series[], otherName: string): Series[] {
  if (series.length <= 6) return series;
  const rest = series.slice(5);
  const values = (rest[0]?.values ?? []).map((_, i) => rest.reduce((sum, s) => sum + (s.values[i] ?? 0), 0));
  return [...series.slice(0, 5), { name: otherName, color: "text-3", values }];
}
