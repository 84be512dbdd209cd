// How two texts differ, line by line.

export interface Line {
  kind: "same" | "plus" | "minus";
  text: string;
}

const most = 2000;

// An empty text has no lines, rather than an empty one.
const split = (text: string) => (text === "" ? [] : text.split("\n"));

/** diffLines is the shortest way from one text to another; of very long ones, all of both. */
export function diffLines(before: string, after: string): Line[] {
  const a = split(before);
  const b = split(after);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const same = (lines: string[]) => lines.map((text): Line => ({ kind: "same", text }));
  const middle = between(a.slice(head, a.length - tail), b.slice(head, b.length - tail));
  return [...same(a.slice(0, head)), ...middle, ...same(a.slice(a.length - tail))];
}

function between(a: string[], b: string[]): Line[] {
  const minus = (text = ""): Line => ({ kind: "minus", text });
  const plus = (text = ""): Line => ({ kind: "plus", text });
  if (a.length > most || b.length > most) return [...a.map(minus), ...b.map(plus)];
  // Longest common subsequence, from the end.
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] =
        a[i] === b[j]
          ? (common[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0);
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ kind: "same", text: a[i] ?? "" });
      i++;
      j++;
    } else if (
      i < a.length &&
      (j === b.length || (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0))
    )
      lines.push(minus(a[i++]));
    else lines.push(plus(b[j++]));
  }
  return lines;
}

const around = 3;

/** nearChanges leaves out what is far from any change; a number is how many lines were left out. */
export function nearChanges(lines: readonly Line[]): (Line | number)[] {
  const shown: (Line | number)[] = [];
  const near = lines.map((_, n) => lines.slice(Math.max(0, n - around), n + around + 1).some((l) => l.kind !== "same"));
  let left = 0;
  lines.forEach((line, n) => {
    if (!near[n]) {
      left++;
      return;
    }
    if (left > 0) shown.push(left);
    left = 0;
    shown.push(line);
  });
  if (left > 0) shown.push(left);
  return shown;
}
