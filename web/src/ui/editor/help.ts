// What an editor of policies helps with: members and values by the schema, and the names of conditions. Pure.

/** Named is something that conditions may use. */
export interface Named {
  name: string;
  form: string;
  help: string;
}

/** Schema is as much of a JSON Schema as helps. */
export interface Schema {
  $ref?: string;
  description?: string;
  const?: unknown;
  enum?: unknown[];
  default?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  oneOf?: Schema[];
  "x-names"?: Named[];
  $defs?: Record<string, Schema>;
}

/** Place is where one is in the text: the names above, and the value that is being written, if it is one. */
export interface Place {
  path: string[];
  /** Before the colon: the name of a member is being written. */
  naming: boolean;
}

const member = /^(\s*(?:- +)*)([\w-]+):(?=\s|$)/;

// How far a line is indented; a dash of a list counts as indentation.
const depth = (line: string) => /^\s*(?:- +)*/.exec(line)?.[0].length ?? 0;

/** placeAt finds where a column of a line is, by indentation, as people write policies. */
export function placeAt(lines: readonly string[], line: number, column: number): Place {
  const text = lines[line] ?? "";
  const own = member.exec(text);
  const naming = !own || column < own[0].length;
  let inner = own ? (own[1]?.length ?? 0) : text.trim() === "" ? column : depth(text);
  const path = own && !naming ? [own[2] ?? ""] : [];
  for (let n = line - 1; n >= 0 && inner > 0; n--) {
    const above = lines[n] ?? "";
    const found = member.exec(above);
    if (!found || /^\s*#/.test(above)) continue;
    const indent = found[1]?.length ?? 0;
    const dash = above.indexOf("-");
    // "- id: x" opens a list whose members stand behind the dash.
    const outer = dash >= 0 && dash < indent ? dash : indent;
    if (indent < inner) {
      path.unshift(found[2] ?? "");
      inner = outer;
    } else if (outer < inner && dash >= 0 && dash < indent) {
      inner = outer;
    }
  }
  return { path, naming: naming && path.at(-1) !== "when" };
}

const resolved = (root: Schema, at: Schema | undefined): Schema | undefined => {
  const name = at?.$ref?.replace("#/$defs/", "");
  return name ? { ...root.$defs?.[name], ...at, ...mergeInner(root.$defs?.[name], at) } : at;
};

// A reference's own members stay; those of the use are added.
const mergeInner = (to: Schema | undefined, at: Schema | undefined): Schema => {
  const description = at?.description ?? to?.description;
  return description === undefined ? {} : { description };
};

// What the schema says of a path itself; lists on the way are passed through.
function memberAt(root: Schema, path: readonly string[]): Schema | undefined {
  let at: Schema | undefined = root;
  for (const name of path) {
    at = resolved(root, inside(root, at)?.properties?.[name]);
    if (!at) return undefined;
  }
  return at;
}

/** schemaAt is what the schema says of what stands at a path: of a list, of its items. */
export const schemaAt = (root: Schema, path: readonly string[]) => inside(root, memberAt(root, path));

const inside = (root: Schema, at: Schema | undefined): Schema | undefined => {
  const found = resolved(root, at);
  return found?.items ? resolved(root, found.items) : found;
};

export interface Offer {
  label: string;
  detail?: string;
  help?: string;
  kind: "member" | "value" | "name";
}

/** offersAt is what may be written at a place. */
export function offersAt(root: Schema, { path, naming }: Place): Offer[] {
  const at = schemaAt(root, path);
  if (!at) return [];
  if (path.at(-1) === "when" && !naming) return namesOf(root).map((n) => offerOf(n));
  if (naming)
    return Object.entries(at.properties ?? {}).map(([label, schema]) => {
      const help = resolved(root, schema)?.description;
      return { label, kind: "member", ...(help ? { help } : {}) };
    });
  return valuesOf(at).map((value) => ({ label: String(value), kind: "value" }));
}

const offerOf = (n: Named): Offer => ({ label: n.name, detail: n.form, help: n.help, kind: "name" });

const valuesOf = (at: Schema): unknown[] =>
  at.enum ?? (at.const !== undefined ? [at.const] : (at.oneOf ?? []).flatMap(valuesOf));

/** namesOf are the names that conditions may use. */
export const namesOf = (root: Schema): Named[] => schemaAt(root, ["rules", "when"])?.["x-names"] ?? [];

/** helpAt is what is said of a word at a place. */
export function helpAt(root: Schema, place: Place, word: string): { title: string; text: string } | undefined {
  if (place.path.at(-1) === "when" && !place.naming) {
    const named = namesOf(root).find((n) => n.name === word);
    return named && { title: named.form, text: named.help };
  }
  const text = memberAt(root, place.naming ? [...place.path, word] : place.path)?.description;
  return text ? { title: word, text } : undefined;
}
