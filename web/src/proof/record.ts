// The record of an entry. What is hashed is its text; it counts only in its one form,
// because two texts of one meaning would have two leaves.

/** LogRecord is what the checks need of a record. */
export interface LogRecord {
  log: string;
  index: number;
  epoch: number;
  action: string;
  payload?: string;
}

/** parseRecord reads a record in its canonical form; undefined: it is none. */
export function parseRecord(text: string): LogRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const record = value as LogRecord & { v: unknown };
  const known =
    typeof value === "object" &&
    record !== null &&
    record.v === 1 &&
    typeof record.log === "string" &&
    typeof record.action === "string" &&
    Number.isSafeInteger(record.index) &&
    Number.isSafeInteger(record.epoch) &&
    (record.payload === undefined || typeof record.payload === "string");
  return known && canonical(value) === text ? record : undefined;
}

/** canonical writes JSON in the form that is hashed; its numbers must be whole. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "string") return quoted(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const names = Object.keys(value).sort(byCodePoint);
  return `{${names.map((name) => `${quoted(name)}:${canonical((value as Record<string, unknown>)[name])}`).join(",")}}`;
}

function byCodePoint(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const difference = (left[i]?.codePointAt(0) ?? 0) - (right[i]?.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

// JSON.stringify escapes as the form says, but for U+007F and what is not ASCII.
function quoted(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
