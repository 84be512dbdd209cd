// A JSON value as rows of a tree, folded where it is deep or long.
import { Exact, type Json } from "../../api/exact";

export interface Row {
  path: string;
  depth: number;
  name: string | number | undefined;
  value: Json;
  /** Of an object or list: how many members, and whether they are shown. */
  members?: number;
  open?: boolean;
  /** Members that are not shown yet. */
  rest?: number;
}

/** Shown is what a person changed: paths that were folded or unfolded, and how often more members were asked for. */
export interface Shown {
  toggled: ReadonlySet<string>;
  more: ReadonlyMap<string, number>;
}

export const untouched: Shown = { toggled: new Set(), more: new Map() };

const openDepth = 2;
const manyMembers = 50;

/** toggle folds or unfolds a row, or shows the next members behind a row that stands for them. */
export function toggle(shown: Shown, row: Row): Shown {
  if (row.rest !== undefined) {
    const of = row.path.slice(0, -1);
    return { ...shown, more: new Map(shown.more).set(of, (shown.more.get(of) ?? 0) + 1) };
  }
  const toggled = new Set(shown.toggled);
  if (!toggled.delete(row.path)) toggled.add(row.path);
  return { ...shown, toggled };
}

/** isSecretName reports whether a member is named like a secret. */
export function isSecretName(name: string | number | undefined): boolean {
  return (
    typeof name === "string" &&
    /pass(word|wd)?$|secret|token$|api[-_]?key|authorization|credential|private[-_]?key/i.test(name)
  );
}

const plainName = /^[A-Za-z_$][\w$]*$/;

/** isPlainName reports whether a member's name needs no quotes. */
export const isPlainName = (name: string) => plainName.test(name);

/** pathOf names a member: items[0].name, or items["odd name"]. */
export function pathOf(parent: string, name: string | number): string {
  if (typeof name === "number") return `${parent}[${name}]`;
  if (!plainName.test(name)) return `${parent}[${JSON.stringify(name)}]`;
  return parent ? `${parent}.${name}` : name;
}

/** isBase64 reports whether a string looks like a file rather than text. All of it must: text could hide behind. */
export function isBase64(text: string): boolean {
  return (
    text.length > 256 &&
    text.length % 4 === 0 &&
    /^[A-Za-z0-9+/]+={0,2}$/.test(text) &&
    !/^[a-z]+$/i.test(text.slice(0, 200))
  );
}

function membersOf(value: Json): [string | number, Json][] | undefined {
  if (Array.isArray(value)) return value.map((item, i) => [i, item]);
  if (value !== null && typeof value === "object" && !(value instanceof Exact)) return Object.entries(value);
  return undefined;
}

/** rowsOf lists what is shown of a value. */
export function rowsOf(value: Json, { toggled, more }: Shown): Row[] {
  const rows: Row[] = [];
  const add = (path: string, depth: number, name: string | number | undefined, value: Json) => {
    const members = membersOf(value);
    if (!members) {
      rows.push({ path, depth, name, value });
      return;
    }
    const open = (depth < openDepth && members.length <= manyMembers) !== toggled.has(path);
    rows.push({ path, depth, name, value, members: members.length, open });
    if (!open) return;
    // Each time, as many again as are there: a long list is read in a few clicks.
    const shown = members.slice(0, manyMembers * 2 ** (more.get(path) ?? 0));
    for (const [key, member] of shown) add(pathOf(path, key), depth + 1, key, member);
    if (shown.length < members.length) {
      const rest = members.length - shown.length;
      rows.push({ path: `${path}*`, depth: depth + 1, name: undefined, value: null, rest });
    }
  };
  add("", 0, undefined, value);
  return rows;
}

/** textOf is a value that has no members, as it was written. */
export function textOf(value: Json): string {
  if (value instanceof Exact) return value.text;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** matches counts where a text occurs, in names and values, and gives the paths. */
export function matches(value: Json, search: string): string[] {
  const wanted = search.toLowerCase();
  const found: string[] = [];
  const visit = (path: string, name: string | number | undefined, value: Json) => {
    const members = membersOf(value);
    const named = typeof name === "string" && name.toLowerCase().includes(wanted);
    if (named || (!members && textOf(value).toLowerCase().includes(wanted))) found.push(path);
    for (const [key, member] of members ?? []) visit(pathOf(path, key), key, member);
  };
  if (wanted) visit("", undefined, value);
  return found;
}
