// Makes the pictures of the README from demo data: node e2e/screenshots.mjs
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { launch, openContext, settled, signInContext } from "./browser.mjs";
import { signIn, startServer } from "./server.mjs";

const folder = fileURLToPath(new URL("../../docs/pictures/", import.meta.url));
mkdirSync(folder, { recursive: true });

const pictures = (found) => [
  { name: "overview", path: "/", themes: ["light", "dark"], shows: "canvas" },
  { name: "usage", path: "/usage", themes: ["light"], shows: "canvas" },
  { name: "trace", path: `/traces/${found.trace}`, themes: ["light"], shows: ".waterfall-row" },
  { name: "proof", path: `/audit/${found.denial}#proof`, themes: ["light"], shows: ".path-tree" },
];

/** exhibits are a trace with tools and models, and the denial of a call that left its plan. */
async function exhibits(call, org) {
  const { items } = await call("GET", `/organization/${org}/observability/traces?limit=100`);
  const trace = items.find((t) => t.spanCount >= 8 && t.totalCostUsd > 0);
  const filter = `organizationId=${org}&action=call.decided&decision=deny&policy=writ:intent&limit=1`;
  const denials = await call("GET", `/audit-log/entries?${filter}`);
  return { trace: trace.id, denial: denials.items[0].index };
}

const server = await startServer();
const browser = await launch();
try {
  const owner = await signIn(server.url, server.first.email, server.first.password);
  const demo = await owner("POST", "/demo");
  const shots = pictures(await exhibits(owner, demo.id));
  for (const colorScheme of ["light", "dark"]) {
    const context = await openContext(browser, server.url, { colorScheme, viewport: { width: 1280, height: 960 } });
    await signInContext(context, server.url, server.first.email, server.first.password);
    const page = await context.newPage();
    await page.goto(`/ui/?org=${demo.id}`); // so that no picture says which organization was opened
    await settled(page);
    for (const { name, path, shows } of shots.filter((p) => p.themes.includes(colorScheme))) {
      const [place, hash] = path.split("#");
      await page.goto(`/ui${place}?org=${demo.id}${hash ? `#${hash}` : ""}`);
      await settled(page);
      await page.locator(shows).first().waitFor();
      await page.screenshot({ path: `${folder}${name}-${colorScheme}.png` });
    }
    await context.close();
  }
} finally {
  await browser.close();
  await server.stop();
}
