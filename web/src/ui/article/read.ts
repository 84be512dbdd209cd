// Reads the HTML that the server makes of Markdown into pieces. The page's policy lets no script make markup of text,
// and that stays so: only what is listed here becomes an element, and whatever else there is stays away or is text.

/** Tag is an element that an article may have: what the server's own list has. */
export type Tag = (typeof tags)[number];

/** Piece is a text, or an element with what is in it. */
export type Piece = string | Element;

export interface Element {
  tag: Tag;
  /** Where a link leads: http, https or mailto. */
  href?: string;
  /** The number that a list begins with. */
  start?: number;
  inside: Piece[];
}

const tags = [
  ...(["p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "del", "code", "pre"] as const),
  ...(["blockquote", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "a"] as const),
];
const empty = new Set<Tag>(["br", "hr"]);
// Only elements stand in these: white space between them is none of the text.
const frames = new Set<Tag>(["ul", "ol", "table", "thead", "tbody", "tr"]);
// Deeper than people write: what is nested further keeps its text alone.
const deepest = 40;

const markup = /<!--[\s\S]*?-->|<(\/?)([a-z][a-z0-9]*)((?:\s+[a-z-]+(?:="[^"]*")?)*)\s*\/?>/gi;

/** readArticle is an article in pieces. */
export function readArticle(html: string): Piece[] {
  const top: Piece[] = [];
  const open: Element[] = [];
  const here = () => open.at(-1)?.inside ?? top;
  const say = (raw: string) => {
    const parent = open.at(-1)?.tag;
    if (raw === "" || (raw.trim() === "" && (parent === undefined || frames.has(parent)))) return;
    here().push(textOf(raw));
  };
  let from = 0;
  for (const found of html.matchAll(markup)) {
    say(html.slice(from, found.index));
    from = found.index + found[0].length;
    const tag = tags.find((t) => t === found[2]?.toLowerCase());
    if (!tag) continue;
    if (found[1]) {
      const at = open.findLastIndex((e) => e.tag === tag);
      if (at >= 0) open.length = at;
      continue;
    }
    if (open.length >= deepest) continue;
    const element = elementOf(tag, found[3] ?? "");
    here().push(element);
    if (!empty.has(tag)) open.push(element);
  }
  say(html.slice(from));
  return top;
}

function elementOf(tag: Tag, attributes: string): Element {
  const of = (name: string) => textOf(new RegExp(`\\s${name}="([^"]*)"`, "i").exec(attributes)?.[1] ?? "");
  const element: Element = { tag, inside: [] };
  const href = tag === "a" ? of("href") : "";
  if (/^(https?:\/\/|mailto:)/i.test(href)) element.href = href;
  const start = tag === "ol" ? of("start") : "";
  if (/^\d{1,9}$/.test(start)) element.start = Number(start);
  return element;
}

const named: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" };

/** textOf is a text without its escapes. One pass: what an escape gives is not read again. */
function textOf(raw: string): string {
  return raw.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,6}));/gi, (whole, decimal, hex, name) => {
    if (name) return named[name.toLowerCase()] ?? whole;
    const point = Number.parseInt(decimal ?? hex, decimal ? 10 : 16);
    return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : whole;
  });
}
