// Tests the client packages, as they are packed and installed, and runs the quickstarts: node test/clients/run.mjs
// [FILTER]. One real server decides for all. scripts/test-clients builds what this needs. -update writes what is made
// here: the page about published clients, and the types of the TypeScript client.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { caller, elsewhere, startServer } from "../../web/e2e/server.mjs";
import { inBrowser } from "./browser.mjs";
import { runPage } from "./pages.mjs";
import { publishedPage } from "./published.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const update = process.argv.includes("-update");
const filter = process.argv.slice(2).find((word) => !word.startsWith("-")) ?? "";
const limit = 600_000;

const server = await startServer({ WRIT_OUTBOUND_ALLOW: "127.0.0.0/8" });
const folder = mkdtempSync(join(tmpdir(), "writ-clients-"));
const { email, password, apiKey } = server.first;
const { accessToken } = await caller(server.url, elsewhere())("POST", "/auth/login", { email, password });
const env = {
  ...process.env,
  MAKEFLAGS: undefined, // a make that runs this would have those of the pages say where they are
  MAKELEVEL: undefined,
  PATH: `${join(root, "bin")}:${process.env.PATH}`,
  HOME: process.env.HOME ?? folder,
  XDG_CONFIG_HOME: folder, // writ must not find a person's own sign-in
  WRIT_ACCESS_TOKEN: accessToken,
  NO_PROXY: "*",
  no_proxy: "*",
};
const live = { ...env, WRIT_URL: server.url, WRIT_API_KEY: apiKey };

/** run runs a program and gives what is wrong with how it ends. */
function run(program, args, settings = env) {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: root, env: settings, timeout: limit });
  return status === 0 ? [] : [`${program} ${args.join(" ")} ends with ${status}:\n${stdout}${stderr}`];
}

const tests = (pattern) => [
  "--test",
  ...readdirSync(join(root, "clients/typescript/test"))
    .filter((name) => pattern.test(name))
    .map((name) => join("clients/typescript/test", name)),
];
const python = "examples/python/.venv/bin/python";
const unittest = (name) => [
  "-W",
  "error::ResourceWarning",
  "-m",
  "unittest",
  "discover",
  "-s",
  "clients/python/tests",
  "-p",
  name,
];

function types() {
  const script = "clients/typescript/scripts/generate.mjs";
  if (update) return run("node", [script]);
  const { stdout, stderr } = spawnSync("node", [script, "--print"], { cwd: root });
  if (`${stdout}` === readFileSync(join(root, "clients/typescript/src/api.ts"), "utf8")) return [];
  return [`src/api.ts is not what web/openapi.json gives: scripts/test-clients -update writes it\n${stderr}`];
}

function wheel() {
  const args = ["-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check"];
  const wrong = run(python, [...args, "--wheel-dir", folder, "clients/python"]);
  if (wrong.length > 0) return wrong;
  const name = readdirSync(folder).find((file) => file.endsWith(".whl"));
  const [built, shipped] = [join(folder, name), join(root, "bin/clients", name)].map((file) => readFileSync(file));
  return built.equals(shipped) ? [] : ["pip builds another wheel from clients/python than bin/clients has"];
}

/** refusal is whether the example of a shell repeats a refusal whole: JSON escapes the quotation marks of this one. */
function refusal() {
  const create = ["keys", "create", "--name", "traces", "--scope", "ingest", "--url", server.url];
  const made = spawnSync("writ", create, { env });
  const another = { ...live, WRIT_API_KEY: `${made.stdout}`.trim() };
  const { status, stderr } = spawnSync("sh", ["examples/curl/agent.sh"], { cwd: root, env: another, timeout: limit });
  if (status === 1 && `${stderr}` === 'no plan: this API key does not have the scope "enforce"\n') return [];
  return [`examples/curl/agent.sh ends with ${status}:\n${made.stderr}${stderr}`];
}

const port = await new Promise((done) => {
  const probe = createServer().listen(0, "127.0.0.1", () => {
    const { port: free } = probe.address();
    probe.close(() => done(String(free)));
  });
});
const replace = (text) =>
  text
    .replaceAll("http://localhost:8080", server.url)
    .replaceAll("9217", port)
    .replaceAll("data/first-run.json", join(server.folder, "first-run.json"));
const settings = join(folder, "settings.sh");
const pages = readdirSync(join(root, "docs/quickstarts")).filter((name) => name !== "README.md");
const ofPages = { ...env, TMPDIR: folder }; // what pages put there is removed with it
const page = (name, more) => runPage(root, join("docs/quickstarts", name), { env: ofPages, limit, replace, ...more });

const steps = [
  ["types of the TypeScript client", types],
  ["TypeScript client", () => run("node", tests(/^(guard|receipt)\.test\.mjs$/))],
  ["TypeScript client, real server", () => run("node", tests(/^live\.test\.mjs$/), live)],
  ["TypeScript client in a browser", () => inBrowser(root)],
  ["Python client", () => run(python, unittest("test_[gr]*.py"))],
  ["Python client, real server", () => run(python, unittest("test_live.py"), live)],
  ["wheel", wheel],
  [
    "syntax of the Python examples",
    () => run(python, ["-m", "compileall", "-q", "-f", "examples/python", "-x", "venv"]),
  ],
  ["example of curl, refused", refusal],
  ["page README.md", () => page("README.md", { after: `export -p >'${settings}'` }), "always"],
  ...pages.map((name) => [`page ${name}`, () => page(name, { before: `. '${settings}'` })]),
  ["published clients", () => publishedPage(root, server.url, { email, password, apiKey }, update)],
];

let failed = 0;
try {
  for (const [name, step, always] of steps) {
    if (!always && !name.includes(filter)) continue;
    const began = Date.now();
    const wrong = await Promise.resolve()
      .then(step)
      .catch((error) => [error.stack]);
    console.log(
      `${wrong.length === 0 ? "ok  " : "FAIL"} ${((Date.now() - began) / 1000).toFixed(1).padStart(5)}s  ${name}`,
    );
    for (const text of wrong) console.log(text.replace(/^/gm, "       "));
    failed += wrong.length === 0 ? 0 : 1;
  }
} finally {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
if (failed > 0) {
  console.error(`clients: ${failed} failed`);
  process.exitCode = 1;
}
