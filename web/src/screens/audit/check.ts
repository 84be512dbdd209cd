// The answer of a check: a line for each problem, and a last one that says how many entries there are.

export interface Checked {
  /** Absent: the check did not end. */
  entries?: number;
  problems: { kind: string; entries: string; message: string }[];
}

/** parseCheck reads the lines of a check. */
export function parseCheck(text: string): Checked {
  const checked: Checked = { problems: [] };
  for (const line of text.split("\n").filter(Boolean)) {
    const read = JSON.parse(line) as Record<string, unknown>;
    if (typeof read.kind !== "string") {
      if (typeof read.entries === "number" && read.problems === checked.problems.length) checked.entries = read.entries;
      continue;
    }
    const entries = Array.isArray(read.entries) ? read.entries.join(", ") : String(read.entries ?? "");
    checked.problems.push({ kind: read.kind, entries, message: String(read.message ?? "") });
  }
  return checked;
}
