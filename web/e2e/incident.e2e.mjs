// From one decision to everything that somebody who investigates it asks next.
import { problemsOf, settled } from "./browser.mjs";
import { seedEvidence } from "./evidence.seed.mjs";

const indexOf = (decision) => decision.auditIndex ?? decision.audit_index ?? decision.receipt?.index;

export function tests({ test, env }) {
  let seeding;
  const seeded = () => {
    seeding ??= seedEvidence(env);
    return seeding;
  };

  /** follow opens a fact of an entry, and gives what is wrong with where it leads. */
  async function follow(page, from, fact, address, shows) {
    await page.goto(from);
    await settled(page);
    const value = page.locator(`dl.facts dt:text-is("${fact}") + dd`).first();
    await value.getByRole("link").first().click();
    await page.waitForURL(address);
    await settled(page);
    await page.locator("main").getByText(shows).first().waitFor({ timeout: 10_000 });
    const alerts = await page.locator(".state[role=alert], .error-banner").allInnerTexts();
    return [...alerts, ...(await problemsOf(page))].map((text) => `${fact}: ${text}`);
  }

  test("incident: a held call leads to its agent, session, policy and request", async () => {
    const s = await seeded();
    const page = await env.page();
    const entry = env.within(`/audit/${indexOf(s.held)}`, s.org);
    const wrong = [
      ...(await follow(page, entry, "Agent", /\/ui\/agents\//, "Kill…")),
      ...(await follow(page, entry, "Session", /\/ui\/sessions\//, "transfer")),
      ...(await follow(page, entry, "Decided by", /\/ui\/policies\//, "payments")),
      ...(await follow(page, entry, "Approval", /\/ui\/approvals\//, "Approve once")),
    ];
    // The request leads back to who asks, and to the rule.
    const request = page.url();
    await page.locator(".approval-card header").getByRole("link").first().click();
    await page.waitForURL(/\/ui\/agents\//);
    await page.goto(request);
    await settled(page);
    await page.locator('dl.facts dt:text-is("Rule") + dd').getByRole("link").click();
    await page.waitForURL(/\/ui\/policies\//);
    wrong.push(...(await problemsOf(page)));
    await page.close();
    return wrong;
  });

  test("incident: what Writ decides by itself is said in words, and is no policy to open", async () => {
    const s = await seeded();
    const page = await env.page();
    await page.goto(env.within(`/audit/${indexOf(s.decisions[1])}`, s.org));
    await settled(page);
    const decider = page.locator('dl.facts dt:text-is("Decided by") + dd');
    const text = await decider.textContent();
    const wrong = text === "the plan · other arguments than planned" ? [] : [`it reads ${text}`];
    if ((await decider.getByRole("link").count()) > 0) wrong.push("it leads to a policy that is none");
    await page.goto(env.within("/decisions?policy=writ:intent", s.org));
    await settled(page);
    await page.getByText("Calls that it allowed are not listed by policy.").waitFor();
    const chip = await page.locator(".filter-bar .chip").textContent();
    if (!chip.startsWith("decider is the plan")) wrong.push(`the filter reads ${chip}`);
    wrong.push(...(await problemsOf(page)));
    await page.close();
    return wrong;
  });

  test("incident: an agent at work on the overview leads to its kill switch", async () => {
    const s = await seeded();
    const page = await env.page();
    await page.goto(env.within("/", s.org));
    await settled(page);
    await page.locator("a.agent-name", { hasText: "billing" }).first().click();
    await page.waitForURL(/\/ui\/agents\/billing/);
    await page.getByRole("button", { name: "Kill…" }).waitFor();
    const wrong = await problemsOf(page);
    await page.close();
    return wrong;
  });
}
