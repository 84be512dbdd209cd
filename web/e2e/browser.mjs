// Chromium, and what every page must hold: no error, no report of the content
// security policy, nothing that an attacker's text could run.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { elsewhere } from "./server.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// Chromium as Debian packs it for use without a window: the same engine, and a third less work for each page.
export const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });

/** openContext is a browser profile of its own, watched for whatever goes wrong in its pages. */
export async function openContext(browser, url, options = {}) {
  const context = await browser.newContext({
    baseURL: url,
    viewport: { width: 1280, height: 800 },
    reducedMotion: "reduce",
    ...options,
  });
  const problems = [];
  await context.addInitScript(() => {
    window.__problems = [];
    document.addEventListener("securitypolicyviolation", (e) => {
      window.__problems.push(`CSP: ${e.violatedDirective} ${e.blockedURI} ${e.sample} ${e.sourceFile}:${e.lineNumber}`);
    });
  });
  context.on("page", (page) => {
    page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
    page.on("dialog", (dialog) => {
      problems.push(`a script ran: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("console", (message) => {
      // Answers that are no success are what some tests ask for.
      if (message.type() === "error" && !/^Failed to load resource/.test(message.text())) problems.push(message.text());
    });
    page.on("request", (request) => {
      const target = new URL(request.url());
      if (target.origin !== url && target.protocol.startsWith("http")) problems.push(`a request to ${target.origin}`);
    });
  });
  context.problems = problems;
  return context;
}

/** signInContext gives the context a session, as the page's own sign-in does. */
export async function signInContext(context, url, email, password) {
  const answer = await context.request.post("/auth/login", {
    headers: { "Writ-Session": "cookie", Origin: url, ...elsewhere() },
    data: { email, password },
  });
  if (!answer.ok()) throw new Error(`sign in ${email}: ${answer.status()} ${await answer.text()}`);
  await context.addInitScript(() => {
    // A blank page has no storage.
    if (location.protocol !== "about:") localStorage.setItem("writ.signed-in", "yes");
  });
}

// What is loading says so at once, and is drawn only when it takes a moment.
const loading = '.skeleton, [aria-busy="true"], [role="status"][aria-label^="Loading"]';

/** settled waits until nothing is loading. */
export async function settled(page) {
  await page.waitForSelector("main :is(h1, h2)", { timeout: 15_000 });
  await page.waitForFunction(
    (selector) => !document.querySelector(selector) || document.querySelector("[data-settled]"),
    loading,
    { timeout: 15_000 },
  );
}

/** problemsOf is what is wrong with a page as it is now. */
export async function problemsOf(page) {
  const found = [...page.context().problems.splice(0)];
  found.push(...(await page.evaluate(() => window.__problems.splice(0))));
  if (await page.evaluate(() => window.__xss !== undefined)) found.push("a script of an agent ran");
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  if (wide > 0) found.push(`the page is ${wide} px wider than its window`);
  // Within the frame only the content scrolls: what makes the page longer lets a link push the frame out of sight.
  const long = await page.evaluate(() => {
    const { scrollHeight, clientHeight } = document.documentElement;
    return document.querySelector(".shell") ? scrollHeight - clientHeight : 0;
  });
  if (long > 0) found.push(`the page is ${long} px longer than its window`);
  found.push(...(await page.evaluate(misaligned)), ...(await page.evaluate(squeezed)));
  return found;
}

/** misaligned lists columns of tables whose heads do not stand above their cells. It runs in the page. */
function misaligned() {
  const found = [];
  for (const table of document.querySelectorAll("[role=table]:not(.cards)")) {
    const heads = [...table.querySelectorAll("[role=columnheader]")];
    for (const row of [...table.querySelectorAll(".table-row.data")].slice(0, 5)) {
      [...row.querySelectorAll("[role=cell]")].forEach((cell, i) => {
        const [head, below] = [heads[i]?.getBoundingClientRect(), cell.getBoundingClientRect()];
        if (head && Math.abs(head.left - below.left) + Math.abs(head.right - below.right) > 1)
          found.push(
            `${table.ariaLabel}: ${heads[i].textContent} is at ${head.left}–${head.right}, its cell at ${below.left}–${below.right}`,
          );
      });
    }
  }
  return found;
}

/** squeezed lists texts that stand letter below letter, and acts of rows that are out of sight. It runs in the page. */
function squeezed() {
  const found = [];
  const say = (element) => element.textContent.trim().slice(0, 40);
  // Only read aloud.
  const clipped = (e) => e !== null && (getComputedStyle(e).clipPath !== "none" || clipped(e.parentElement));
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (texts.nextNode()) {
    const { currentNode: text } = texts;
    if (text.data.trim().length < 4) continue;
    range.selectNodeContents(text);
    const { width, height } = range.getBoundingClientRect();
    const upright = getComputedStyle(text.parentElement).writingMode === "horizontal-tb";
    if (upright && width > 0 && width < 24 && height > 60 && !clipped(text.parentElement))
      found.push(`squeezed: ${say(text)}`);
  }
  for (const act of document.querySelectorAll(".table-row.data > .act")) {
    const frame = act.closest(".table-scroll").getBoundingClientRect();
    if (act.getBoundingClientRect().right > frame.right + 1) found.push(`out of sight: ${say(act)}`);
  }
  return found;
}

/** axeProblems is what axe finds serious. */
export async function axeProblems(page) {
  await page.evaluate(axe);
  const violations = await page.evaluate(async () => {
    const result = await window.axe.run(document, { resultTypes: ["violations"] });
    return result.violations
      .filter((v) => v.impact === "serious" || v.impact === "critical")
      .map((v) => `axe ${v.id}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).join("; ")}`);
  });
  return violations;
}

/** tabTo moves the focus as people without a mouse do, until something of that name has it. */
export async function tabTo(page, name, steps = 80) {
  for (let n = 0; n < steps; n++) {
    const has = await page.evaluate(
      () =>
        document.activeElement?.getAttribute("aria-label") ??
        document.activeElement?.labels?.[0]?.textContent ??
        document.activeElement?.textContent ??
        "",
    );
    if (has.trim().startsWith(name)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not reach ${name}`);
}
