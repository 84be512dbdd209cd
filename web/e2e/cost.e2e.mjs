// A spike of cost, from the chart to the trace that made it.
import { problemsOf, settled } from "./browser.mjs";

export function tests({ test, env }) {
  test("journey: a spike of cost from the chart to its trace", async () => {
    const org = await env.demo();
    const page = await env.page();
    await page.goto(env.within("/", org));
    await settled(page);
    await page.getByRole("link", { name: /^Cost/ }).click();
    await page.getByRole("heading", { name: "Usage", level: 1 }).waitFor();
    // The highest bar is found by reading the chart, as a person without a mouse does.
    const chart = page.getByRole("group", { name: /Cost by model/ });
    await chart.locator("canvas").waitFor();
    const highest = await spikeOf(env, org);
    await chart.focus();
    for (let n = 0; n < 200 && !(await isAt(page, highest)); n++) await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Open only the most expensive" }).click();
    await page.getByRole("heading", { name: "Traces", level: 1 }).waitFor();
    await settled(page);
    await page.getByText("Summarise the archive").first().click();
    await page.waitForURL(/\/ui\/traces\/[0-9a-f-]{36}/);
    await settled(page);
    const wrong = await problemsOf(page);
    if (
      (await page.getByText("claude-opus-4").count()) + (await page.getByText("Summarise the archive").count()) ===
      0
    ) {
      wrong.push("the trace is not the dear one");
    }
    await page.close();
    return wrong;
  });
}

/** spikeOf is when the dearest hour begins. */
async function spikeOf(env, org) {
  const found = await env.owner(
    "GET",
    `/organization/${org}/observability/analytics/series?metric=cost&bucket=hour&days=7`,
  );
  const dearest = found.buckets.reduce((a, b) => ((b.values.cost ?? 0) > (a.values.cost ?? 0) ? b : a));
  return Date.parse(dearest.at);
}

/** isAt is whether the chart's reading is of that hour. */
async function isAt(page, at) {
  const said = await page
    .locator(".chart-at")
    .first()
    .textContent({ timeout: 1000 })
    .catch(() => "");
  const shown = await page.evaluate(
    (time) =>
      new Intl.DateTimeFormat("en-GB", {
        day: "numeric",
        month: "short",
        year: "numeric",
        hour: "2-digit",
        minute: "2-digit",
        second: "2-digit",
        timeZoneName: "short",
      }).format(time),
    at,
  );
  return said === shown;
}
