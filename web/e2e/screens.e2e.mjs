import { axeProblems, openContext, problemsOf, settled } from "./browser.mjs";
import { publicScreens, screens } from "./screens.mjs";

const looks = [
  { name: "light", width: 1280, colorScheme: "light" },
  { name: "dark", width: 1280, colorScheme: "dark" },
  { name: "narrow", width: 320, colorScheme: "light" },
  // Between a phone and a desk only the room is another: nothing is wider than it, squeezed or out of reach.
  { name: "small", width: 1024, colorScheme: "light", room: true },
  { name: "tablet", width: 820, colorScheme: "dark", room: true },
];

/** checks are the tests of the table of screens. */
export function tests({ test, env }) {
  for (const screen of screens) {
    test(`screen ${screen.name}`, async () => {
      const page = await env.page();
      const path = typeof screen.path === "function" ? screen.path(env.seeded) : screen.path;
      await page.goto(env.within(path, screen.demo ? await env.demo() : env.org));
      const found = await look(page, screen.name, env);
      await page.close();
      return found;
    });
    if (screen.empty) {
      test(`screen ${screen.name}, empty`, async () => {
        const page = await env.page();
        await page.goto(env.within(screen.path, env.emptyOrg));
        await page.getByText(screen.empty).first().waitFor({ timeout: 15_000 });
        const found = [...(await problemsOf(page)), ...(await axeProblems(page))];
        await env.shoot(page, `${screen.name}-empty`);
        await page.close();
        return found;
      });
    }
  }
  for (const screen of publicScreens) {
    test(`page ${screen.name}`, async () => {
      const context = await openContext(env.browser, env.server.url);
      const page = await context.newPage();
      await page.goto(`/ui${screen.path}`);
      const found = await look(page, screen.name, env);
      await context.close();
      return found;
    });
  }
}

async function look(page, name, env) {
  const found = [];
  for (const { name: as, width, colorScheme, room } of looks) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    await settled(page);
    const wrong = [...(await problemsOf(page)), ...(room ? [] : await axeProblems(page))];
    if ((await page.locator("h1, h2").count()) === 0) wrong.push("the page has no heading");
    found.push(...wrong.map((w) => `${as}: ${w}`));
    await env.shoot(page, `${name}-${as}`);
  }
  return found;
}
