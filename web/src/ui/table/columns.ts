// Which columns a table shows, and how wide, as it stands in an address: cols=time,name:320.
import type { Column } from "./Table";

const narrowest = 60;
const widest = 1200;

/** chosenColumns are the columns that an address names, in the table's own order; without any, those shown by default. */
export function chosenColumns<T>(all: readonly Column<T>[], cols: readonly string[] | undefined): Column<T>[] {
  const widths = new Map((cols ?? []).map(readColumn));
  const named = all.filter((c) => widths.has(c.id));
  if (named.length === 0) return all.filter((c) => !c.extra);
  return all
    .filter((c) => c.always || widths.has(c.id))
    .map((c) => {
      const width = widths.get(c.id);
      return width === undefined ? c : { ...c, width: `${width}px` };
    });
}

function readColumn(text: string): [string, number | undefined] {
  const [id = "", size = ""] = text.split(":");
  return [id, /^\d{1,4}$/.test(size) ? Math.max(narrowest, Math.min(widest, Number(size))) : undefined];
}

/** widthOf is the width that was chosen for a column. */
export function widthOf(cols: readonly string[] | undefined, id: string): number | undefined {
  return new Map((cols ?? []).map(readColumn)).get(id);
}

/** writeColumns is what stands in the address; undefined: the columns of every table. */
export function writeColumns<T>(
  all: readonly Column<T>[],
  shown: readonly string[],
  widths: ReadonlyMap<string, number>,
): string[] | undefined {
  const usual = all.filter((c) => !c.extra).map((c) => c.id);
  const ids = all.filter((c) => c.always || shown.includes(c.id)).map((c) => c.id);
  if (ids.join() === usual.join() && widths.size === 0) return undefined;
  return ids.map((id) => (widths.has(id) ? `${id}:${widths.get(id)}` : id));
}

const gap = 12;
const sides = 24;

/** leastWidth is how narrow the columns can be, in pixels: head and rows must agree on it. */
export function leastWidth<T>(columns: readonly Column<T>[]): number {
  const widths = columns.map((c) => Number(/(\d+)px/.exec(c.width)?.[1] ?? narrowest));
  return widths.reduce((sum, width) => sum + width, gap * Math.max(0, columns.length - 1) + sides);
}
