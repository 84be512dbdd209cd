// How the dashboard is laid out: components know no screen, screens know no other
// screen, colours are in one file, and files stay short.
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const src = fileURLToPath(new URL(".", import.meta.url));
const files = (readdirSync(src, { recursive: true }) as string[]).filter(
  (name) => /\.(tsx?|css)$/.test(name) && !/schema\.d\.ts$/.test(name),
);
const textOf = (name: string) => readFileSync(join(src, name), "utf8");

function importsOf(name: string): string[] {
  return [...textOf(name).matchAll(/(?:from|import)\s*\(?"(\.[^"]+)"/g)].map((m) =>
    relative(src, join(src, dirname(name), m[1] ?? "")),
  );
}

// What the files of a folder may import, beside themselves.
const below: Record<string, string[]> = {
  api: ["auth", "words"],
  auth: ["api", "ui", "words"],
  live: ["api", "auth"],
  ui: ["api", "words"],
  words: [],
  proof: [],
  app: ["api", "auth", "live", "ui", "words", "proof", "screens"],
  screens: ["api", "auth", "live", "ui", "words", "proof", "app"],
};

it("imports point down", () => {
  const wrong: string[] = [];
  for (const name of files.filter((n) => n.includes("/"))) {
    const [folder = "", area] = name.split("/");
    for (const target of importsOf(name)) {
      const [to = "", toArea] = target.split("/");
      const ok = to === folder ? folder !== "screens" || area === toArea : below[folder]?.includes(to);
      if (!ok) wrong.push(`${name} imports ${target}`);
      // Only the routes know the screens.
      if (
        folder === "app" &&
        to === "screens" &&
        !/^app\/router\.((settings|policies|installation)\.)?tsx?$/.test(name)
      )
        wrong.push(`${name} imports ${target}`);
    }
  }
  expect(wrong).toEqual([]);
});

it("colours are in one file", () => {
  const colour = /#[0-9a-f]{3,8}\b(?![^"]*")|rgba?\(|hsla?\(/i;
  const wrong = files.filter((n) => n.endsWith(".css") && n !== "ui/tokens.css" && colour.test(textOf(n)));
  expect(wrong).toEqual([]);
});

it("no file is over 300 lines", () => {
  expect(files.filter((n) => textOf(n).split("\n").length > 301)).toEqual([]);
});

it("an effect returns only what it says it returns", () => {
  // React calls what an effect returns. Browsers begin to return promises from methods that returned nothing, scrollTo
  // for example: an effect without braces hands them over.
  const handsOver = /use(?:Layout)?Effect\(\(\) => (?!\{|\(\) =>)/;
  expect(files.filter((n) => handsOver.test(textOf(n)))).toEqual([]);
});

it("nothing makes markup of text", () => {
  const dangerous =
    /dangerouslySetInnerHTML|\.innerHTML|\.outerHTML|insertAdjacentHTML|document\.write|new Function|\beval\(/;
  expect(files.filter((n) => !n.endsWith(".test.ts") && dangerous.test(textOf(n)))).toEqual([]);
});

it("texts of clients are not joined: one could pass for the other", () => {
  const joined = /<AgentText\b[^>]*?\btext=\{[^}]*(?:`|\.join\()/;
  expect(files.filter((n) => n.endsWith(".tsx") && joined.test(textOf(n)))).toEqual([]);
});
