// Makes the tables of docs/published-clients.md: what came of each method of the client that npm has, which is run, and
// of the requests that later clients send, which are sent as those send them.
import { spawn, spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { signIn } from "../../web/e2e/server.mjs";
import { requests } from "./requests.mjs";

const name = "docs/published-clients.md";
const begin = "<!-- The tables are made by scripts/test-clients -update. -->\n";

/** publishedPage gives what is wrong with the page; update: it is written. The server has the policy of examples. */
export async function publishedPage(root, url, first, update) {
  const bank = await startBank(root);
  const owner = await signIn(url, first.email, first.password);
  const { mcpId } = await owner("POST", "/mcp/register", { name: "bank", url: bank.url, transport: "http" });
  try {
    const npm = await runPublished(root, url, first.apiKey);
    const wire = await requests(url, first, owner);
    const made = `${begin}\n${tableOfMethods(npm)}\n${tableOfRequests(wire)}`;
    return compare(join(root, name), made, update);
  } finally {
    await owner("DELETE", `/mcp/servers/${mcpId}`);
    bank.stop();
  }
}

function compare(file, made, update) {
  const page = readFileSync(file, "utf8");
  const at = page.indexOf(begin);
  if (at < 0) return [`${name} has no line ${begin}`];
  if (page.slice(at) === made) return [];
  if (!update) return [`${name} is not what the clients do (scripts/test-clients -update writes it):\n${made}`];
  writeFileSync(file, page.slice(0, at) + made);
  return [];
}

async function startBank(root) {
  const port = await new Promise((done) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port: free } = probe.address();
      probe.close(() => done(free));
    });
  });
  const settings = { env: { ...process.env, PORT: String(port) }, stdio: "inherit" };
  const child = spawn("node", [join(root, "examples/javascript/out/bank.js")], settings);
  const address = `http://127.0.0.1:${port}`;
  for (let tries = 0; ; tries += 1) {
    try {
      await fetch(address);
      return { url: `${address}/mcp`, stop: () => child.kill() };
    } catch (error) {
      if (tries === 200) throw error;
      await new Promise((done) => setTimeout(done, 100));
    }
  }
}

// What the methods should do.
const wants = {
  getIntentToken: /^token$/,
  verifyToken: /^true$/,
  "invoke, allowed": /^success: .*sent 900 to landlord/,
  "invoke, denied": /^throws MCPInvocationException: /,
  "invoke, held": /^throws MCPInvocationException: /,
  "invoke, not in the plan": /^throws IntentMismatchException: /,
  "invoke, with another `tool` in the step": /^success: .*sent 900 to landlord/,
  delegate: /^delegated$/,
};

async function runPublished(root, url, apiKey) {
  const { stdout: folder, status: installed } = spawnSync(join(root, "scripts/published-client"), { encoding: "utf8" });
  if (installed !== 0) throw new Error("the published client was not installed");
  const { publicKey } = generateKeyPairSync("ed25519");
  const key = publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("hex");
  const env = {
    ...process.env,
    NODE_PATH: join(folder.trim(), "node_modules"),
    NO_PROXY: "*",
    no_proxy: "*",
    BACKEND_ENDPOINT: url,
    PROXY_ENDPOINT: url,
    IAP_ENDPOINT: url,
    ARMORIQ_API_KEY: apiKey,
    USER_ID: "ada",
    AGENT_ID: "billing",
    DELEGATE_KEY: key,
  };
  const driver = join(root, "test/clients/published.cjs");
  const { stdout, stderr, status } = spawnSync("node", [driver], { env, encoding: "utf8", timeout: 600_000 });
  if (status !== 0) throw new Error(`the published client ends with ${status}: ${stdout}${stderr}`);
  const rows = JSON.parse(stdout.trim().split("\n").at(-1));
  if (rows.length !== Object.keys(wants).length) throw new Error("a method of the published client was not called");
  return rows;
}

/** wordsOf says what a method did. */
function wordsOf(method, did) {
  if (!wants[method]?.test(did)) return `does not work: ${did}`;
  const [, exception] = /^throws (\w+)/.exec(did) ?? [];
  return exception ? `the tool does not run; the client throws \`${exception}\`` : "works";
}

function tableOfMethods(rows) {
  const lines = rows.map(([method, did]) => `| ${method.replace(/^\w+/, "`$&`")} | ${wordsOf(method, did)} |`);
  return `## \`@armoriq/sdk\` 0.2.6 of npm, run\n\n| method | |\n|---|---|\n${lines.join("\n")}\n`;
}

function tableOfRequests(rows) {
  const lines = rows.map(({ method, request, result }) => `| ${method} | \`${request}\` | ${result} |`);
  return (
    "## Versions 0.3.9 and 0.4.3, by their requests\n\n" +
    `| of the SDK | request | |\n|---|---|---|\n${lines.join("\n")}\n`
  );
}
