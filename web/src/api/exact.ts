// JSON whose numbers keep their text. JSON.parse makes 12345678901234567000 of
// 12345678901234567890, and an approver must see what runs.

/** Exact is a number that a double cannot hold, as it was written. */
export class Exact {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text;
  }
  /** A double, for sums and charts where the last digits do not matter. */
  valueOf(): number {
    return Number(this.text);
  }
  /** JSON.stringify would round it: browsers that can write the text do, others must use writeExact. */
  toJSON(): unknown {
    const { rawJSON } = JSON as { rawJSON?: (text: string) => unknown };
    if (!rawJSON) throw new TypeError("write exact numbers with writeExact");
    return rawJSON(this.text);
  }
}

export type Json = null | boolean | number | string | Exact | Json[] | { [name: string]: Json };

/** parseJson reads JSON. Numbers that a double would change are Exact. */
export function parseJson(text: string): unknown {
  // Most answers have no such number; those take the fast way.
  return keepsNumbers(text) ? JSON.parse(text) : new Parser(text).parse();
}

// keepsNumbers reports whether a double prints each number, outside of strings, as it is written.
function keepsNumbers(text: string): boolean {
  for (let at = 0; at < text.length; ) {
    const quote = text.indexOf('"', at);
    const between = text.slice(at, quote < 0 ? text.length : quote);
    for (const [written] of between.matchAll(/-?\d[\d.eE+-]*/g)) {
      if (String(Number(written)) !== written) return false;
    }
    if (quote < 0) return true;
    at = endOfString(text, quote);
    if (at < 0) return true; // no JSON: JSON.parse says so
  }
  return true;
}

// endOfString is behind the string that begins at a quote, or -1.
function endOfString(text: string, start: number): number {
  for (let i = start + 1; ; i++) {
    i = text.indexOf('"', i);
    if (i < 0) return -1;
    let slashes = 0;
    while (text[i - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return i + 1;
  }
}

/** parseExact reads JSON so that every number prints as it was written. */
export function parseExact(text: string): Json {
  return parseJson(text) as Json;
}

/** writeExact writes JSON, with exact numbers as they were. */
export function writeExact(value: unknown, indent = 2, depth = 0): string {
  if (value instanceof Exact) return value.text;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const array = Array.isArray(value);
  const parts = array
    ? value.map((item) => writeExact(item, indent, depth + 1))
    : Object.entries(value).map(([name, item]) => {
        return `${JSON.stringify(name)}:${indent ? " " : ""}${writeExact(item, indent, depth + 1)}`;
      });
  const [open, close] = array ? "[]" : "{}";
  if (parts.length === 0) return `${open}${close}`;
  if (!indent) return `${open}${parts.join(",")}${close}`;
  const pad = " ".repeat(indent * (depth + 1));
  return `${open}\n${pad}${parts.join(`,\n${pad}`)}\n${" ".repeat(indent * depth)}${close}`;
}

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const blank = /[ \t\n\r]*/y;
const words: [string, Json][] = [
  ["true", true],
  ["false", false],
  ["null", null],
];
const maxDepth = 1000;

class Parser {
  private at = 0;
  private depth = 0;
  constructor(private readonly text: string) {}

  parse(): Json {
    const value = this.value();
    this.skip();
    if (this.at < this.text.length) this.fail();
    return value;
  }

  private fail(): never {
    throw new SyntaxError(`not JSON at position ${this.at}`);
  }

  private skip() {
    blank.lastIndex = this.at;
    blank.exec(this.text);
    this.at = blank.lastIndex;
  }

  private value(): Json {
    this.skip();
    const char = this.text[this.at];
    if (char === '"') return this.string();
    if (char === "{") return this.within(() => this.object());
    if (char === "[") return this.within(() => this.array());
    for (const [word, value] of words) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    return this.number();
  }

  private within<T>(read: () => T): T {
    if (++this.depth > maxDepth) this.fail();
    const value = read();
    this.depth--;
    return value;
  }

  private number(): number | Exact {
    number.lastIndex = this.at;
    const found = number.exec(this.text)?.[0];
    if (found === undefined) this.fail();
    this.at += found.length;
    const double = Number(found);
    return String(double) === found ? double : new Exact(found);
  }

  // The end of a string is found here; what it says is left to JSON.parse.
  private string(): string {
    const end = endOfString(this.text, this.at);
    if (end < 0) this.fail();
    const text = this.text.slice(this.at, end);
    this.at = end;
    return JSON.parse(text);
  }

  private take(char: string): boolean {
    this.skip();
    if (this.text[this.at] !== char) return false;
    this.at++;
    return true;
  }

  private array(): Json[] {
    const items: Json[] = [];
    this.at++;
    if (this.take("]")) return items;
    do items.push(this.value());
    while (this.take(","));
    if (!this.take("]")) this.fail();
    return items;
  }

  private object(): { [name: string]: Json } {
    const members: { [name: string]: Json } = {};
    this.at++;
    if (this.take("}")) return members;
    do {
      this.skip();
      if (this.text[this.at] !== '"') this.fail();
      const name = this.string();
      if (!this.take(":")) this.fail();
      // Not by assignment: __proto__ would set the prototype.
      const value = this.value();
      Object.defineProperty(members, name, { value, enumerable: true, writable: true, configurable: true });
    } while (this.take(","));
    if (!this.take("}")) this.fail();
    return members;
  }
}
