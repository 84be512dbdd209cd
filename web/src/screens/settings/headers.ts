/** headersOf reads "name: value" lines. A line without a colon is a name without a value, which the server refuses. */
export function headersOf(text: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of text.split("\n")) {
    if (!line.trim()) continue;
    const colon = line.indexOf(":");
    const name = (colon < 0 ? line : line.slice(0, colon)).trim();
    headers[name] = colon < 0 ? "" : line.slice(colon + 1).trim();
  }
  return headers;
}
