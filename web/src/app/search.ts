// What stands in the query of an address: flat text, lists with commas, defaults left
// out. The router's own form is JSON, which people cannot read or type.

/** parseSearch reads a query into texts. */
export function parseSearch(query: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(query));
}

/** stringifySearch writes a query; undefined and empty members are left out. */
export function stringifySearch(search: Record<string, unknown>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    const text = Array.isArray(value) ? value.join(",") : value === undefined || value === null ? "" : String(value);
    if (text !== "") query.set(name, text);
  }
  const text = query.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
  return text ? `?${text}` : "";
}

/** Field reads one member of a query; undefined: the value is not known. */
export type Field<T> = (text: string) => T | undefined;

export const text =
  (max = 200): Field<string> =>
  (value) =>
    value.length <= max ? value : undefined;

export const oneOf =
  <V extends string>(...values: readonly V[]): Field<V> =>
  (value) =>
    values.find((v) => v === value);

export const severalOf =
  <V extends string>(...values: readonly V[]): Field<V[]> =>
  (value) => {
    const known = value.split(",").filter((v): v is V => (values as readonly string[]).includes(v));
    return known.length > 0 ? known : undefined;
  };

export const texts =
  (max = 20): Field<string[]> =>
  (value) =>
    value.split(",").filter(Boolean).slice(0, max);

export const whole: Field<number> = (value) => (/^\d{1,15}$/.test(value) ? Number(value) : undefined);

/** An id as the server makes them. */
export const uuid: Field<string> = (value) =>
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value) ? value.toLowerCase() : undefined;

const moment: Field<string> = (value) =>
  /^\d{4}-\d\d-\d\dT/.test(value) && !Number.isNaN(Date.parse(value)) ? value : undefined;

/** Members of every screen with a time range. */
export const rangeFields = { range: oneOf("1h", "24h", "7d", "30d", "90d"), from: moment, to: moment };

type Fields = Record<string, Field<unknown>>;
export type SearchOf<F extends Fields> = { [K in keyof F]?: NonNullable<ReturnType<F[K]>> | undefined };

/** only keeps what a screen knows of an address: that has the organization too, and what other screens left there. */
export function only<F extends Fields>(fields: F, found: SearchOf<F>): SearchOf<F> {
  return Object.fromEntries(Object.entries(found).filter(([name]) => name in fields)) as SearchOf<F>;
}

// Told to the shell, which says what was left out. The first address is read before there is a shell.
let report: ((names: string[]) => void) | undefined;
let early = new Set<string>();
export function onDropped(listener: (names: string[]) => void): void {
  report = listener;
  if (early.size > 0) listener([...early]);
  early = new Set();
}

/** search makes the validateSearch of a route. Values that are not known are dropped, and a notice says so. */
export function search<F extends Fields>(fields: F): (raw: Record<string, unknown>) => SearchOf<F> {
  return (raw) => {
    const read: Record<string, unknown> = {};
    const dropped: string[] = [];
    for (const [name, field] of Object.entries(fields)) {
      const value = raw[name];
      if (value === undefined || value === "") continue;
      const known = field(Array.isArray(value) ? value.join(",") : String(value));
      if (known === undefined) dropped.push(name);
      else read[name] = known;
    }
    if (report && dropped.length > 0) report(dropped);
    else for (const name of dropped) early.add(name);
    return read as SearchOf<F>;
  };
}
