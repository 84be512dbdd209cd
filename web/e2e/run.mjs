// Runs the browser tests: node e2e/run.mjs [FILTER]. A test gives what is wrong.
// SHOTS=folder keeps a picture of each screen. PART=screens runs those of screens.e2e.mjs alone, and PART=others the rest.
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { seedAgents } from "./agents.seed.mjs";
import { launch, openContext, signInContext } from "./browser.mjs";
import { seed } from "./fixtures.mjs";
import { seedInstallation } from "./installation.seed.mjs";
import { seedPeople } from "./people.mjs";
import { seedPolicies } from "./policies.seed.mjs";
import { startProvider } from "./provider.mjs";
import { payments, signIn, startServer } from "./server.mjs";

const filter = process.argv[2] ?? "";
const shots = process.env.SHOTS;
const part = process.env.PART;
const limit = 60_000;

const browser = await launch(); // first: without it no server need stop
const provider = await startProvider({ sub: "1", email: "cleo@example.org", email_verified: true, name: "Cleo" });
const server = await startServer({
  WRIT_OUTBOUND_ALLOW: "127.0.0.0/8",
  WRIT_GOOGLE_ISSUER: provider.issuer,
  WRIT_GOOGLE_CLIENT_ID: provider.client.id,
  WRIT_GOOGLE_CLIENT_SECRET: provider.client.secret,
  ...payments(),
  WRIT_REFERRAL_CREDIT_CENTS: "1000",
});
let failed = 0;
const stops = [];
try {
  server.makeOperator(server.first.email);
  const owner = await signIn(server.url, server.first.email, server.first.password);
  const empty = await owner("POST", "/organization", { name: "Empty <b>organization</b>" });
  const seeded = await seed(server.url, server.first.apiKey);
  seeded.people = await seedPeople(server.url, owner, server.first.organizationId, server.first.apiKey);
  seeded.agents = await seedAgents(server.url, owner, server.first.organizationId);
  stops.push(seeded.agents.stop);
  seeded.installation = await seedInstallation(server.url, owner);
  seeded.policies = await seedPolicies(server.url, owner, server.first.organizationId);
  let context;
  let demo;
  const env = {
    server,
    provider,
    browser,
    seeded,
    owner,
    org: server.first.organizationId,
    emptyOrg: empty.id,
    /** The organization of demo data, made when it is first needed. */
    demo: async () => {
      demo ??= owner("POST", "/demo").then((made) => made.id);
      return demo;
    },
    demoClosed: () => {
      demo = undefined;
    },
    /** An address within an organization: a browser otherwise shows the one it showed last. */
    within: (path, org) => `/ui${path}${path.includes("?") ? "&" : "?"}org=${org}`,
    /** A page of the owner; all share one session. */
    page: async () => {
      if (!context) {
        context = await openContext(browser, server.url);
        await signInContext(context, server.url, server.first.email, server.first.password);
      }
      return context.newPage();
    },
    shoot: async (page, name) => {
      if (shots) await page.screenshot({ path: join(shots, `${name}.png`) });
    },
  };
  if (shots) mkdirSync(shots, { recursive: true });
  const tests = [];
  const here = new URL(".", import.meta.url);
  const inPart = (name) => !part || (name === "screens.e2e.mjs") === (part === "screens");
  for (const file of readdirSync(here).filter((name) => name.endsWith(".e2e.mjs") && inPart(name))) {
    const module = await import(new URL(file, here));
    module.tests({ env, test: (name, run) => tests.push({ name, run }) });
  }
  for (const { name, run } of tests.filter((t) => t.name.includes(filter))) {
    const began = Date.now();
    const wrong = await Promise.race([
      run().catch((error) => [error.stack ?? String(error)]),
      new Promise((done) => setTimeout(done, limit, ["took more than a minute"])),
    ]);
    failed += wrong.length > 0 ? 1 : 0;
    console.log(`${wrong.length > 0 ? "FAIL" : "ok  "} ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
    for (const line of wrong) console.log(`     ${line.split("\n").join("\n     ").slice(0, 2000)}`);
  }
} finally {
  await browser.close();
  await server.stop();
  provider.stop();
  for (const stop of stops) stop();
}
if (failed > 0) console.log(`${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
