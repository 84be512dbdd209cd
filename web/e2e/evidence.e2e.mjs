// Decisions, the audit log, its proof, plans and findings, in an organization of their own.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { axeProblems, problemsOf, settled } from "./browser.mjs";
import { seedEvidence } from "./evidence.seed.mjs";

const vectors = readFileSync(new URL("../../internal/audit/ledger/testdata/vectors.json", import.meta.url), "utf8");

const looks = [
  { name: "light", width: 1280, colorScheme: "light" },
  { name: "dark", width: 1280, colorScheme: "dark" },
  { name: "narrow", width: 320, colorScheme: "light" },
];

export function tests({ test, env }) {
  let seeding;
  const seeded = () => {
    seeding ??= seedEvidence(env);
    return seeding;
  };
  const look = async (page, name) => {
    const found = [];
    for (const { name: as, width, colorScheme } of looks) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      await settled(page);
      const wrong = [...(await problemsOf(page)), ...(await axeProblems(page))];
      for (const text of await page.locator(".state[role=alert], .error-banner").allInnerTexts()) wrong.push(text);
      found.push(...wrong.map((w) => `${as}: ${w}`));
      await env.shoot(page, `${name}-${as}`);
    }
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.emulateMedia({ colorScheme: "light" });
    return found;
  };

  for (const [name, path] of [
    ["decisions", () => "/decisions"],
    ["audit", () => "/audit"],
    ["plans", () => "/plans"],
    ["plan", ({ plan }) => `/plans/${plan}?step=1`],
    ["plan-delegation", ({ delegated }) => `/plans/${delegated}`],
    ["entry-decision", (s) => `/audit/${indexOf(s.decisions[1])}`],
    ["entry-held", (s) => `/audit/${indexOf(s.held)}`],
    ["entry-asked", (s) => `/audit/${indexOf(s.asked)}`],
    ["entry-change", () => "/audit/0"],
    ["decisions-filtered", () => "/decisions?decision=deny,hold&agent=billing&range=24h"],
    ["decisions-none", () => "/decisions?tool=nothing-like-it"],
  ]) {
    test(`evidence: screen ${name}`, async () => {
      const s = await seeded();
      const page = await env.page();
      await page.goto(env.within(path(s), s.org));
      const found = await look(page, `evidence-${name}`);
      if (name.startsWith("entry")) {
        await page.getByText("Proven", { exact: true }).waitFor({ timeout: 15_000 });
        const current = await page.locator(".shell-nav [aria-current=page]").allInnerTexts();
        const list = name === "entry-change" ? "Audit log" : "Decisions";
        if (String(current) !== list) found.push(`the navigation shows ${current}, not ${list}`);
        await page.locator("#proof").scrollIntoViewIfNeeded();
        await env.shoot(page, `evidence-${name}-proof`);
      }
      await page.close();
      return found;
    });
  }

  test("evidence: every verdict stands in the list, and on its chart", async () => {
    const s = await seeded();
    const page = await env.page();
    await page.goto(env.within("/decisions", s.org));
    const wrong = [];
    for (const verdict of ["Allow", "Ask", "Hold", "Deny"])
      await page
        .getByRole("table", { name: "Decisions" })
        .getByRole("link", { name: `${verdict}, open entry` })
        .first()
        .waitFor({ timeout: 10_000 })
        .catch(() => wrong.push(`${verdict} is not in the list`));
    await page.goto(env.within("/decisions?decision=hold,ask", s.org));
    await settled(page);
    const rows = await page.locator(".table-row.data").count();
    if (rows !== 2) wrong.push(`${rows} rows were held or asked`);
    wrong.push(...(await problemsOf(page)));
    await page.close();
    return wrong;
  });

  test("evidence: who got a part of a plan, drawn as a tree", async () => {
    const s = await seeded();
    const page = await env.page();
    await page.goto(env.within(`/plans/${s.plan}`, s.org));
    const tree = page.getByRole("list", { name: "Delegations" });
    await tree.waitFor();
    await tree.scrollIntoViewIfNeeded();
    await env.shoot(page, "evidence-delegations");
    const wrong = [];
    const texts = await tree.locator(".delegation").allInnerTexts();
    if (texts.length !== 3) wrong.push(`the tree has ${texts.length} plans and delegations`);
    const ended = texts.find((t) => t.includes("former")) ?? "";
    if (!ended.startsWith("Revoked")) wrong.push(`the revoked one reads ${ended}`);
    if (!texts.some((t) => t.startsWith("Active") && t.includes("0 of 20 calls made") && t.includes("fetch")))
      wrong.push(`none says what it permits: ${JSON.stringify(texts)}`);
    await tree.getByRole("link", { name: "Delegation" }).first().click();
    await page.waitForURL(/\/plans\/.+/);
    await page.locator(".delegation.chosen", { hasText: "Delegation" }).waitFor();
    wrong.push(...(await problemsOf(page)));

    // The same on the page of the agent that gave it.
    await page.goto(env.within("/agents/billing?tab=trust", s.org));
    await page.locator(".delegation", { hasText: "former" }).waitFor();
    await env.shoot(page, "agents-trust");
    wrong.push(...(await problemsOf(page)), ...(await axeProblems(page)));
    await page.close();
    return wrong;
  });

  test("evidence: a forged string is one row", async () => {
    const s = await seeded();
    const page = await env.page();
    await page.goto(env.within(`/audit/${indexOf(s.decisions[1])}`, s.org));
    await page.getByRole("tree", { name: "Call" }).waitFor();
    const rows = await page.getByRole("tree", { name: "Call" }).getByRole("treeitem").allInnerTexts();
    await page.close();
    const to = rows.filter((row) => /^\s*to:/.test(row));
    const wrong = [];
    if (to.length !== 1 || !to[0].includes(String.raw`landlord\"\namount: 900`))
      wrong.push(`to is ${JSON.stringify(to)}`);
    if (rows.some((row) => /^\s*amount: 900\s*$/m.test(row) && row.includes("note"))) wrong.push("a string drew a row");
    return wrong;
  });

  test("journey: investigate a denial from the overview to its proof", async () => {
    const s = await seeded();
    const page = await env.page();
    await page.goto(env.within("/", s.org));
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    // A denial is no failure, though the API counts both as errors.
    await page.locator("a.tile", { hasText: "Failed or denied" }).waitFor();
    await page.locator("a.why", { hasText: "other arguments than planned" }).first().click();
    await page.waitForURL(/decisions.*decision=deny/);
    await page.getByText("the arguments are not those of the plan").first().waitFor();
    await page.getByText("the arguments are not those of the plan").first().click();
    await page.getByRole("heading", { name: /send_money/ }).waitFor();
    await page.getByText("Proven", { exact: true }).waitFor({ timeout: 15_000 });
    const steps = await page.locator(".proof-step.done").count();
    const wrong = steps === 5 ? [] : [`${steps} of 5 steps are proven`];
    if (!(await page.getByText("writ audit verify").isVisible())) wrong.push("the command is not shown");
    if (!(await page.getByText("This page comes from the server that it checks").isVisible()))
      wrong.push("the page does not say where it comes from");
    await page.locator('a[href*="/plans/"]').first().click();
    await page.getByText("Planned beside executed").waitFor();
    await page.getByText("all hashes lead to the plan's hash").waitFor();
    await page.getByText("The hash commits to step 0 exactly").waitFor();
    wrong.push(...(await problemsOf(page)));
    await page.close();
    return wrong;
  });

  test("evidence: a server that lies is found out", async () => {
    const s = await seeded();
    const index = indexOf(s.decisions[1]);
    const wrong = [];
    for (const [name, lie, sentence] of [
      [
        "verdict",
        (e) => ({ ...e, record: e.record.replace('"deny"', '"allow"') }),
        "The record does not hash to its leaf",
      ],
      ["payload", (e) => ({ ...e, payloadText: e.payloadText.replace("900", "901") }), "The payload is not the one"],
      ["member", (e) => ({ ...e, decision: "allow", tool: "nothing" }), "Proven"],
      [
        "root",
        (e) => ({ ...e, receipt: { ...e.receipt, proof: e.receipt.proof.slice(1) } }),
        "The root does not follow",
      ],
      [
        "signature",
        (e) => ({ ...e, receipt: { ...e.receipt, checkpoint: e.receipt.checkpoint.replace(/\n(\d+)\n/, "\n1$1\n") } }),
        "No trusted key signed this root",
      ],
    ]) {
      const page = await env.page();
      await page.route(`**/audit-log/entries/${index}?*`, async (route) => {
        const answer = await route.fetch();
        await route.fulfill({ response: answer, json: lie(await answer.json()) });
      });
      await page.goto(env.within(`/audit/${index}`, s.org));
      await page.locator("#proof").getByText(sentence).first().waitFor({ timeout: 15_000 });
      // Members beside the record are not what is shown.
      if (name === "member" && !(await page.getByRole("heading", { name: /send_money/ }).isVisible()))
        wrong.push("the page shows what is not proven");
      await env.shoot(page, `evidence-lie-${name}`);
      await page.close();
    }
    return wrong;
  });

  test("evidence: a finding, from the list to its entry", async () => {
    const page = await env.page();
    await page.goto(env.within("/findings?state=all", env.org));
    await page.getByText("Something ran that nobody allowed.").first().click({ timeout: 30_000 });
    await page.getByRole("heading", { name: "Something ran that nobody allowed." }).waitFor();
    const found = await look(page, "evidence-finding");
    await page.getByRole("link", { name: "Open the entry and its proof" }).click();
    await page.getByText("Proven", { exact: true }).waitFor({ timeout: 15_000 });
    await page.close();
    return found;
  });

  test("evidence: another key and a shrunk log are alarms that stay", async () => {
    const s = await seeded();
    const page = await env.page();
    const index = indexOf(s.decisions[0]);
    const pin = (change) =>
      page.evaluate(
        ([org, change]) => {
          const name = `writ.log.${org}`;
          const pin = JSON.parse(localStorage.getItem(name));
          localStorage.setItem(name, JSON.stringify({ ...pin, ...change }));
          return pin;
        },
        [s.org, change],
      );
    await page.goto(env.within(`/audit/${index}`, s.org));
    await page.getByText("Proven", { exact: true }).waitFor({ timeout: 15_000 });
    const real = await pin({ keys: [JSON.parse(vectors)[0].keys[0]] });
    await page.getByRole("button", { name: "Check again" }).click();
    const alarm = page.getByRole("alert").getByText("signs with a key that this browser does not trust");
    await alarm.waitFor();
    await env.shoot(page, "evidence-alarm-key");
    const wrong = [...(await problemsOf(page)), ...(await axeProblems(page))];
    await page.getByRole("button", { name: "Trust a new key…" }).click();
    await page.getByLabel("Key from your operator").fill(JSON.parse(vectors)[0].keys[0]);
    await page.getByRole("button", { name: "Trust this key" }).click();
    await page.getByText("This is not a key of this installation.").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await alarm.waitFor({ timeout: 5_000 }).catch(() => wrong.push("the alarm is gone"));
    // A log that was larger: the size in what was seen is changed, so that its signature does not fit either.
    await pin({ keys: real.keys, checkpoint: real.checkpoint.replace(/\n\d+\n/, "\n99999\n") });
    await page.reload();
    await page.getByText("Not proven").waitFor();
    await pin(real);
    await page.reload();
    await page.getByText("Proven", { exact: true }).waitFor({ timeout: 15_000 });
    await page.close();
    return wrong;
  });

  test("evidence: erase a payload, and the proof holds", async () => {
    const s = await seeded();
    const page = await env.page();
    const index = indexOf(s.decisions[4]);
    await page.goto(env.within(`/audit/${index}`, s.org));
    await page.getByRole("button", { name: "Erase payload…" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Why (it is recorded)").fill("asked for");
    await dialog.getByLabel(`Type ${index} to go on`).fill(String(index));
    const wrong = await axeProblems(page);
    await env.shoot(page, "evidence-erase");
    await dialog.getByRole("button", { name: "Erase", exact: true }).click();
    await page.getByText("The payload was erased. The proof holds without it.").waitFor();
    await page.getByText("Proven", { exact: true }).waitFor({ timeout: 15_000 });
    await page.getByText("The payload is not here; the record seals it all the same").waitFor();
    await page.close();
    return wrong;
  });

  test("evidence: check and export the log", async () => {
    const s = await seeded();
    const page = await env.page();
    await page.goto(env.within("/audit", s.org));
    await page.getByRole("button", { name: "Check the log" }).click();
    await page.getByText(/entries fit together/).waitFor({ timeout: 15_000 });
    const wrong = await axeProblems(page);
    await env.shoot(page, "evidence-check");
    await page.getByRole("button", { name: "Close" }).click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export" }).click(),
    ]);
    const lines = readFileSync(await download.path(), "utf8")
      .trim()
      .split("\n");
    if (!JSON.parse(lines[0]).checkpoint || lines.length < 20) wrong.push(`the export has ${lines.length} lines`);
    if (!/^audit-Evidence.*\.ndjson$/.test(download.suggestedFilename())) wrong.push(download.suggestedFilename());
    await page.close();
    return wrong;
  });

  test("evidence: a decision arrives behind a pill", async () => {
    const s = await seeded();
    const page = await env.page();
    await page.goto(env.within("/decisions?tool=live_tool", s.org));
    await page.getByText("Nothing matches the filter.").waitFor();
    await page.getByText("Live", { exact: true }).waitFor();
    const { caller } = await import("./server.mjs");
    await caller(env.server.url, { "x-api-key": s.apiKey })("POST", "/iap/enforce", {
      tool_name: "live_tool",
      agent_id: "billing",
    });
    await page.getByRole("button", { name: /1 new decision/ }).click({ timeout: 15_000 });
    await page.getByRole("link", { name: /Deny, open entry/ }).waitFor();
    await page.close();
    return [];
  });

  test("evidence: the vectors of the Go side, in Chromium", async () => {
    const page = await env.page();
    await page.goto(env.within("/", env.org));
    await settled(page);
    const module = await builtProof();
    // A page of its own: the dashboard's policy runs no other script.
    const server = createServer((request, response) => {
      const script = request.url === "/proof.js";
      response.setHeader("Content-Type", script ? "text/javascript" : "text/html");
      response.end(script ? module : "<!doctype html><title>proof</title><body>");
    });
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    const context = await env.browser.newContext();
    const plain = await context.newPage();
    await plain.goto(`http://127.0.0.1:${server.address().port}/`);
    const wrong = await plain.evaluate(async (text) => {
      const proof = await import("/proof.js");
      const found = [];
      for (const v of JSON.parse(text)) {
        for (const [how, by] of [
          ["WebCrypto", proof.verifyByBrowser],
          ["script", proof.verifyByScript],
        ]) {
          const got = await proof.judge(v, by);
          if (got !== v.problem) found.push(`${v.name} by ${how}: ${got}, want ${v.problem}`);
        }
      }
      return found;
    }, vectors);
    await context.close();
    server.close();
    await page.close();
    return wrong;
  });
}

/** builtProof is the checker of src/proof as one module. */
async function builtProof() {
  const { build } = await import("vite");
  const out = await build({
    logLevel: "silent",
    configFile: false,
    build: {
      write: false,
      target: "es2022",
      lib: { entry: new URL("../src/proof/judge.ts", import.meta.url).pathname, formats: ["es"], fileName: "proof" },
      rolldownOptions: { output: { codeSplitting: false } },
    },
  });
  return (Array.isArray(out) ? out[0] : out).output[0].code;
}

const indexOf = (decision) => decision.auditIndex ?? decision.audit_index ?? decision.receipt?.index;
