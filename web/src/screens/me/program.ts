// Which program a session is of, as people know it. What a program says of itself is a claim like any other.

const browsers: [RegExp, string][] = [
  [/\bEdg(?:e|A|iOS)?\//, "Edge"],
  [/\bOPR\//, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\b(?:Firefox|FxiOS)\//, "Firefox"],
  [/\b(?:HeadlessChrome|Chrome|CriOS)\//, "Chrome"],
  [/\bVersion\/[\d.]+.*\bSafari\//, "Safari"],
];
const systems: [RegExp, string][] = [
  [/\b(?:iPhone|iPad)\b/, "iOS"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b/, "macOS"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bLinux\b/, "Linux"],
];

const nameIn = (list: [RegExp, string][], text: string) => list.find(([form]) => form.test(text))?.[1];

/** programOf is the browser and its system; undefined: a program that is no browser, which is shown as it calls itself. */
export function programOf(userAgent: string): { browser: string; system: string | undefined } | undefined {
  const browser = userAgent.startsWith("Mozilla/") ? nameIn(browsers, userAgent) : undefined;
  return browser ? { browser, system: nameIn(systems, userAgent) } : undefined;
}
