// Text that agents wrote, made visible: what would hide, reorder or spoof is shown
// as its code point.

/** Piece is text as it is, or a run of one character shown by its name. */
export type Piece = { text: string } | { code: string; times: number };

// Controls (without tab and line breaks), bidi marks and overrides, zero-width
// characters, blanks that are no spaces, variation selectors, tags, and the interlinear marks.
const hidden =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]|[\ud800-\udfff]/gu;

/** pieces splits text at hidden characters. An emoji's own selector and joiner stay in place. */
export function pieces(text: string, characters: RegExp = hidden): Piece[] {
  const found: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(characters)) {
    if (joinsEmoji(text, match.index, match[0])) continue;
    const code = codeOf(match[0]);
    const times = match[0].startsWith(" ") ? match[0].length : 1;
    const before = found.at(-1);
    if (match.index > from) found.push({ text: text.slice(from, match.index) });
    if (match.index === from && before && "code" in before && before.code === code) before.times += times;
    else found.push({ code, times });
    from = match.index + match[0].length;
  }
  if (from < text.length) found.push({ text: text.slice(from) });
  return found;
}

// A selector or joiner belongs to an emoji only behind a picture; digits take one in keycaps alone.
function joinsEmoji(text: string, at: number, char: string): boolean {
  const before = text.slice(Math.max(0, at - 3), at);
  const after = text.slice(at + 1, at + 3);
  if (char === "\ufe0f") {
    return /\p{Extended_Pictographic}$/u.test(before) || (/[0-9#*]$/.test(before) && after.startsWith("\u20e3"));
  }
  if (char !== "\u200d") return false;
  return (
    /(?:\p{Extended_Pictographic}\ufe0f?|\p{Emoji_Modifier})$/u.test(before) &&
    /^\p{Extended_Pictographic}/u.test(after)
  );
}

// In JSON, blanks that are no space, and long runs of spaces, would draw rows that are not there.
const hiddenInJson = new RegExp(`${hidden.source}|[\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000]| {8,}`, "gu");
const escapes: Record<string, string> = { '"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** jsonPieces is pieces of what stands between the quotes of a JSON string: one line, whatever it says. */
export function jsonPieces(text: string): Piece[] {
  return pieces(
    text.replace(/["\\\n\r\t]/g, (char) => escapes[char] ?? char),
    hiddenInJson,
  );
}

function codeOf(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/** nameOf is how a run of a hidden character is shown. */
export function nameOf({ code, times }: { code: string; times: number }): string {
  return times > 1 ? `${code} ×${times.toLocaleString("en")}` : code;
}

/** cut is the beginning of a text, without half a character at its end. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last < 0xdc00 ? length - 1 : length);
}

/** clean makes one line of text for titles, labels and file names, cut at a length. */
export function clean(text: string, length = 60): string {
  // Nothing behind this many characters could be in the result.
  const visible = pieces(cut(text, 4000))
    .map((piece) => ("text" in piece ? piece.text : `[${nameOf(piece)}]`))
    .join("")
    .replace(/\s+/g, " ")
    .trim();
  const characters = [...visible];
  return characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : visible;
}

/** fileName makes a name for a download that no system reads as a path. */
export function fileName(text: string): string {
  return (
    clean(text, 80)
      .replace(/[^\p{L}\p{N}._-]+/gu, "-")
      .replace(/^[.-]+/, "") || "writ"
  );
}

const scripts = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u, /\p{Script=Armenian}/u];

/** spoofedHosts lists hosts in text that mix scripts, with their punycode. */
export function spoofedHosts(text: string): { host: string; ascii: string }[] {
  const found: { host: string; ascii: string }[] = [];
  for (const match of text.slice(0, 20_000).matchAll(/\bhttps?:\/\/([^\s/?#"'<>]+)/giu)) {
    const host = (match[1] ?? "").replace(/^.*@/, "");
    if (/^[\x20-\x7e]*$/.test(host) || scripts.filter((script) => script.test(host)).length < 2) continue;
    try {
      found.push({ host, ascii: new URL(`http://${host}`).hostname });
    } catch {
      // No browser would open it.
    }
  }
  return found;
}
