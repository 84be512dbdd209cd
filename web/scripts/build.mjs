// Builds the dashboard into dist, as the server embeds it: index.html and compressed
// files. Fails when a part is larger than its budget.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";
import { overBudget, sizes } from "./budget.mjs";

const web = fileURLToPath(new URL("..", import.meta.url));
const built = join(web, ".build");
const dist = join(web, "dist");

process.chdir(web);
await build({ logLevel: "warn" });

const files = new Map();
for (const name of readdirSync(join(built, "assets"))) {
  files.set(`assets/${name}`, gzipSync(readFileSync(join(built, "assets", name)), { level: 9 }));
}
const manifest = JSON.parse(readFileSync(join(built, ".vite/manifest.json"), "utf8"));
const measured = sizes(manifest, (file) => files.get(file)?.length ?? 0);
for (const m of measured.filter((m) => m.budget)) {
  console.log(
    `${m.bytes > m.budget ? "TOO LARGE " : ""}${m.name}: ${(m.bytes / 1000).toFixed(1)} of ${m.budget / 1000} KB`,
  );
}
if (overBudget(measured).length > 0) process.exit(1);

// The marker stays: it lets the server build without the dashboard.
for (const name of readdirSync(dist)) {
  if (name !== "README.md") rmSync(join(dist, name), { recursive: true });
}
mkdirSync(join(dist, "assets"), { recursive: true });
writeFileSync(join(dist, "index.html"), readFileSync(join(built, "index.html")));
for (const [name, content] of files) writeFileSync(join(dist, "assets", `${basename(name)}.gz`), content);
rmSync(built, { recursive: true });
