// Approvals: people answer while agents wait, at the desk and on a phone.
import { deskOf, patience, phone } from "./approvals.desk.mjs";
import { ask, askBeside, pay, until } from "./approvals.seed.mjs";
import { axeProblems, problemsOf, settled } from "./browser.mjs";
import { caller } from "./server.mjs";

export function tests({ test, env }) {
  const { url } = env.server;
  const { seeded, browserOf, open, read, ended, posts, yes, awake, live } = deskOf(env);

  // A request lives a minute at least: it is opened first, and looked at when the others are done.
  let expiring;
  test("approvals: a request is open while its time runs", async () => {
    const s = await seeded();
    const settings = `/delegation/settings?organizationId=${s.org}`;
    const before = await s.people.bob.call("GET", settings);
    await s.people.bob.call("PUT", settings, { ...before, pendingSeconds: 60 });
    const id = await ask(s);
    await s.people.bob.call("PUT", settings, before);
    const context = await browserOf(s, "bob");
    expiring = { context, page: await open(context, `/approvals/${id}`), id };
    await expiring.page.getByText(/\d+ s left/).waitFor(patience);
    return problemsOf(expiring.page);
  });

  test("approvals: somebody approves in a second browser, and the agent that waits goes on", async () => {
    const s = await seeded();
    const [ann, bob] = [await browserOf(s, "ann"), await browserOf(s, "bob")];
    const held = await pay(s, { to: "landlord", amount: 5000 });
    const watching = await open(bob, `/approvals/${held.approvalId}`);
    await watching.getByText("min left").first().waitFor(patience);
    const page = await open(ann, `/approvals/${held.approvalId}`);
    const wrong = [];
    for (const text of ["the tool moves money", "as planned", "left open by the plan", "Compared with step 0"])
      await page.getByText(text).first().waitFor(patience);
    await env.shoot(page, "approvals-planned");
    await awake(page);
    for (const one of [page, watching]) await live(one);
    const sent = posts(page, "/delegation/approve");
    const polled = s.agent("GET", `/delegation/poll?delegationId=${held.approvalId}&waitSeconds=25`);
    await yes(page).click();
    await page.getByText("Approving send_money in 2 s").waitFor();
    await page.getByText("It waits for the agent").waitFor(patience);
    if ((await polled).status !== "approved") wrong.push("the agent was not told");
    // The other browser sees it by itself.
    await watching.getByText("It waits for the agent").waitFor(patience);
    await watching.getByText("Answered by ann").waitFor();
    const again = await pay(s, { to: "landlord", amount: 5000 });
    if (!again.allowed) wrong.push(`the agent may not go on: ${JSON.stringify(again)}`);
    await page.getByText("Approved, and used.").waitFor(patience);
    await watching.getByText("Approved, and used.").waitFor(patience);
    if (sent.length !== 1) wrong.push(`it was sent ${sent.length} times`);
    return ended(wrong, ann, bob);
  });

  test("approvals: a call that is held before the page hears of events is shown", async () => {
    const s = await seeded();
    const ann = await browserOf(s, "ann");
    const page = await ann.newPage();
    let hear;
    const mayHear = new Promise((resolve) => {
      hear = resolve;
    });
    await page.route(/stream/, async (route) => {
      await mayHear;
      await route.continue();
    });
    await ask(s);
    await page.goto("/ui/approvals");
    await page.locator('[id^="request-"]').first().waitFor(patience);
    const id = await ask(s);
    const news = page.getByRole("button", { name: "1 new requests" });
    const wrong = [];
    if (await news.count()) wrong.push("the page heard of it some other way");
    hear();
    await news.click(patience);
    await page.locator(`#request-${id}`).waitFor(patience);
    return ended(wrong, ann);
  });

  test("approvals: on a phone", async () => {
    const s = await seeded();
    const ann = await browserOf(s, "ann", phone);
    await pay(s, { to: "landlord", amount: 500 }); // beside which mallory is new
    const id = await askBeside(s, { to: "mallory", amount: 50_000, token: "hunter2" });
    const page = await open(ann, "/approvals");
    await page
      .getByRole("link", { name: /send_money/ })
      .first()
      .waitFor(patience);
    await env.shoot(page, "approvals-phone-queue");
    await page.locator(`#request-${id}`).tap();
    await page.waitForURL(new RegExp(id));
    const wrong = [];
    const argument = (name) => page.locator(".argument").filter({ has: page.getByText(name, { exact: true }) });
    await argument("to").getByText("differs from the plan").waitFor(patience);
    const to = await argument("to").textContent();
    if (!to.includes("mallory") || !to.includes("landlord")) wrong.push(`to says ${to}`);
    if ((await page.content()).includes("hunter2")) wrong.push("a secret is shown");
    wrong.push(...(await axeProblems(page)));
    await env.shoot(page, "approvals-phone");
    // A request of critical risk takes a yes once its arguments were read, and with a reason.
    await page.evaluate(() => document.querySelector("main").scrollTo(0, 0));
    await page.locator(".argument-end").scrollIntoViewIfNeeded();
    await awake(page);
    await yes(page).tap();
    await page.getByRole("dialog", { name: "Approve a critical call" }).getByRole("button", { name: "Cancel" }).tap();
    for (const name of [/^Reject/, /^Approve once/]) {
      const box = await page.getByRole("button", { name }).boundingBox();
      if (!box || box.height < 56 || box.y + box.height > 844) wrong.push(`${name} is at ${JSON.stringify(box)}`);
    }
    await page.getByRole("button", { name: /^Reject/ }).tap();
    await page.getByLabel("Reason").fill("mallory is not the landlord");
    await env.shoot(page, "approvals-phone-reject");
    await page.getByRole("dialog").getByRole("button", { name: "Reject" }).tap();
    await page.getByText("the call stays denied until").waitFor(patience);
    const now = await s.agent("GET", `/delegation/poll?delegationId=${id}&waitSeconds=0`);
    if (now.status !== "rejected" || now.note !== "mallory is not the landlord")
      wrong.push(`the agent reads ${JSON.stringify(now)}`);
    return ended(wrong, ann);
  });

  test("approvals: with the keyboard alone", async () => {
    const s = await seeded();
    const ann = await browserOf(s, "ann");
    // Another one stands above them, which is open at first: the keys go to each of the three.
    const [, ...ids] = [await ask(s), await ask(s), await ask(s), await ask(s)];
    const page = await open(ann, "/");
    const sent = [...["approve", "reject"].map((act) => posts(page, `/delegation/${act}`))];
    await page.getByRole("heading", { name: "Overview" }).waitFor(patience);
    await page.keyboard.press("g");
    await page.keyboard.press("a");
    await page.getByRole("heading", { name: "Approvals", level: 1 }).waitFor(patience);
    await page.locator(".approval-card").waitFor(patience);
    const wrong = [];
    const rowOf = (id) => page.locator(`#request-${id}[aria-current]`);
    const goTo = async (id) => {
      for (let n = 0; n < 30 && !(await rowOf(id).count()); n++) {
        const before = await page.locator(".approval-row[aria-current]").getAttribute("id");
        await page.keyboard.press("j");
        await page
          .waitForFunction((b) => document.querySelector(".approval-row[aria-current]")?.id !== b, before, {
            timeout: 3000,
          })
          .catch(() => {});
      }
      await rowOf(id).waitFor();
      await page.locator(`.approval-pane .id-chip[title="${id}"]`).waitFor(patience);
      await page.waitForTimeout(800); // what has just come up takes no answer
    };
    await page.locator(`#request-${ids[0]}`).waitFor(patience);
    // y, and u takes it back: nothing is sent.
    await goTo(ids[0]);
    const focused = await page.evaluate(() => document.activeElement?.id);
    if (focused !== `request-${ids[0]}`) wrong.push(`the focus is on ${focused}`);
    await page.keyboard.press("y");
    await page.getByText("Approving notes.write in 2 s").waitFor();
    await page.keyboard.press("u");
    await page.getByText("Not sent.").waitFor();
    await page.waitForTimeout(2500);
    if (sent[0].length > 0) wrong.push("what was undone was sent");
    await page.keyboard.press("y");
    await page.getByText("It waits for the agent").waitFor(patience);
    // n asks for the reason, and Enter sends it.
    await goTo(ids[1]);
    await page.keyboard.press("n");
    await page.getByRole("dialog", { name: "Reject" }).waitFor();
    await page.keyboard.type("not today, y and n are only letters here");
    await page.keyboard.press("Enter");
    await page.getByText("the call stays denied until").waitFor(patience);
    // e changes the arguments.
    await goTo(ids[2]);
    await page.keyboard.press("e");
    await page.getByLabel("Arguments, as JSON").waitFor();
    await page.keyboard.press("Control+A");
    await page.keyboard.type('{"note": "shorter", "n": 12345678901234567890');
    await page.getByText("This is no JSON object.").first().waitFor();
    await page.keyboard.type("}");
    await page.getByText("Changed:").waitFor();
    await env.shoot(page, "approvals-edit");
    wrong.push(...(await axeProblems(page)));
    for (let n = 0; n < 6; n++) {
      await page.keyboard.press("Tab");
      if ((await page.evaluate(() => document.activeElement?.textContent)) === "Approve these") break;
    }
    await page.keyboard.press("Enter");
    await page.getByText("Changed by the approver to").waitFor(patience);
    if (!(await page.getByText("12345678901234567890").count())) wrong.push("the number lost its digits");
    const changed = await s.agent("GET", `/delegation/poll?delegationId=${ids[2]}&waitSeconds=0`);
    if (changed.editedArguments?.note !== "shorter") wrong.push(`the agent reads ${JSON.stringify(changed)}`);
    if (sent[0].length !== 2 || sent[1].length !== 1) wrong.push(`sent ${sent.map((l) => l.length)}`);
    return ended(wrong, ann);
  });

  for (const [where, leave] of [
    ["beside the queue", '.shell-nav a[href*="/ui/agents"]'],
    ["beside the queue", '.approval-tab[href*="status=all"]'],
    ["on its own page", '.shell-nav a[href="/ui/"], .shell-nav a[href^="/ui/?"]'],
  ])
    test(`approvals: whoever leaves takes the answer back, ${where}, by ${leave}`, async () => {
      const s = await seeded();
      const ann = await browserOf(s, "ann");
      const id = await ask(s);
      const page = await open(ann, where === "on its own page" ? `/approvals/${id}` : `/approvals?id=${id}`);
      await awake(page);
      const sent = posts(page, "/delegation/approve");
      // Both clicks at once: however slow the machine is, the two seconds are not over.
      await page.evaluate((to) => {
        document.querySelector(".approval-yes").click();
        document.querySelector(to).click();
      }, leave);
      await page.getByText("Not sent.").waitFor(patience);
      await page.locator(".approval-card").waitFor({ state: "detached", ...patience });
      await page.waitForTimeout(2500);
      const wrong = sent.length > 0 ? ["it was sent"] : [];
      const { status } = await read(s, id);
      if (status !== "pending") wrong.push(`the request is ${status}`);
      return ended(wrong, ann);
    });

  test("approvals: an answer is sent while its person goes on to the next request", async () => {
    const s = await seeded();
    const ann = await browserOf(s, "ann");
    const [id, next] = [await ask(s), await ask(s)];
    const page = await open(ann, `/approvals?id=${id}`);
    await awake(page);
    await page.locator(`#request-${next}`).waitFor(patience);
    const sent = posts(page, "/delegation/approve");
    await page.evaluate((row) => {
      document.querySelector(".approval-yes").click();
      document.getElementById(row).click();
    }, `request-${next}`);
    await page.locator(`.approval-pane .id-chip[title="${next}"]`).waitFor(patience);
    await until(() => sent.length > 0);
    return ended([], ann);
  });

  test("approvals: what a screen reader reads", async () => {
    const s = await seeded();
    const id = await askBeside(s, { to: "mallory", amount: 70_000 });
    const ann = await browserOf(s, "ann");
    const page = await open(ann, `/approvals?id=${id}`);
    await page.getByText("differs from the plan").first().waitFor(patience);
    await awake(page);
    const tree = await page.locator("main").ariaSnapshot();
    const wrong = [];
    for (const part of [
      /heading "Approvals" \[level=1\]/,
      /navigation "Approvals"/,
      /list "Requests that wait"/,
      /article "Request"/,
      /heading ".*send_money" \[level=2\]/,
      /region "Why it deserves care"/,
      /region "Arguments"/,
      /term: to/,
      /definition: .*mallory.*landlord.*differs from the plan/s,
      /region "Requests like it"/,
      /region "Your answer"/,
      /What a yes permits/,
      /button "Reject…"/,
      /button "Change…"/,
      /button "Wider…"/,
      /button "Approve once"/,
    ])
      if (!part.test(tree)) wrong.push(`the tree has no ${part}`);
    if (wrong.length > 0) wrong.push(tree);
    for (const width of [1280, 320]) {
      await page.setViewportSize({ width, height: 800 });
      wrong.push(...(await axeProblems(page)));
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await env.shoot(page, "approvals-differs");
    await page.emulateMedia({ colorScheme: "dark" });
    await env.shoot(page, "approvals-differs-dark");
    wrong.push(...(await axeProblems(page)));
    await s.people.bob.call("POST", `/delegation/reject?organizationId=${s.org}`, { delegationId: id, note: "no" });
    return ended(wrong, ann);
  });

  test("approvals: two must agree", async () => {
    const s = await seeded();
    const [ann, bob] = [await browserOf(s, "ann"), await browserOf(s, "bob")];
    const id = await ask(s, "mcp__vault__open");
    const [first, second] = [await open(ann, `/approvals/${id}`), await open(bob, `/approvals/${id}`)];
    for (const page of [first, second]) {
      await awake(page);
      await live(page);
    }
    await yes(first).click();
    await first.getByText("1 of 2 yeses").first().waitFor(patience);
    await first.locator('.approval-yes[aria-disabled="true"]').waitFor(patience);
    await second.getByText("1 of 2 yeses").first().waitFor(patience);
    await yes(second).click();
    for (const page of [first, second]) await page.getByText("It waits for the agent").waitFor(patience);
    return ended([], ann, bob);
  });

  test("approvals: a standing approval with its bounds, and taking it back", async () => {
    const s = await seeded();
    const ann = await browserOf(s, "ann");
    const { approvalId: id } = await pay(s, { to: "landlord", amount: 2000 });
    const page = await open(ann, `/approvals/${id}`);
    await awake(page);
    await page.getByRole("button", { name: /^Wider/ }).click();
    const dialog = page.getByRole("dialog", { name: "Give a standing approval" });
    await dialog.getByLabel("amount may be").selectOption("max");
    await dialog.getByLabel("Limit of amount").fill("many");
    await dialog.getByText("Give a number for each limit").waitFor();
    await dialog.getByLabel("Limit of amount").fill("3000");
    await dialog
      .getByText(/amount is at most 3000 and to is "landlord".*at most 5 times within 1 hour/)
      .waitFor(patience);
    await env.shoot(page, "approvals-wider");
    const wrong = [...(await axeProblems(page))];
    await dialog.getByRole("button", { name: "Give it" }).click();
    await page.getByText("Approved with a standing approval.").waitFor(patience);
    const within = await pay(s, { to: "landlord", amount: 2999 });
    if (!within.allowed) wrong.push("a call within the bounds waits");
    const beyond = await pay(s, { to: "landlord", amount: 3001 });
    if (beyond.allowed) wrong.push("a call beyond the bounds runs");
    await page.getByRole("link", { name: "Standing" }).last().click();
    await page
      .getByText(/at most 3000/)
      .first()
      .waitFor(patience);
    await page.getByText("1 of 5").waitFor(patience);
    await env.shoot(page, "approvals-standing");
    await page.getByRole("button", { name: /^Take back/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Take back" }).click();
    await page.getByText("No standing approval.").waitFor(patience);
    if ((await pay(s, { to: "landlord", amount: 2998 })).allowed) wrong.push("it works on after it was taken back");
    return ended(wrong, ann);
  });

  test("approvals: the queue never moves by itself", async () => {
    const s = await seeded();
    const ann = await browserOf(s, "ann");
    const id = await ask(s);
    const page = await open(ann, `/approvals?id=${id}`);
    await page.locator(`#request-${id}`).waitFor(patience);
    await live(page);
    const rows = () => page.locator(".approval-row").evaluateAll((all) => all.map((r) => r.id));
    const before = await rows();
    const risky = await askBeside(s, { to: "mallory", amount: 90_000 });
    await page.getByRole("button", { name: /1 new requests/ }).waitFor(patience);
    const wrong = [];
    if (String(await rows()) !== String(before)) wrong.push("a row came by itself");
    await s.people.bob.call("POST", `/delegation/reject?organizationId=${s.org}`, { delegationId: id, note: "bob's" });
    await page.locator(`#request-${id}.gone`).waitFor(patience);
    await page.locator(".approval-pane").getByText("Answered by bob").waitFor(patience);
    if (String(await rows()) !== String(before)) wrong.push("a row went by itself");
    await page.getByRole("button", { name: /1 new requests/ }).click();
    await page.locator(`#request-${risky}`).waitFor();
    if ((await rows())[0] !== `request-${risky}`) wrong.push("the riskiest is not the first");
    await s.people.bob.call("POST", `/delegation/reject?organizationId=${s.org}`, { delegationId: risky, note: "no" });
    return ended(wrong, ann);
  });

  test("approvals: members see their own and cannot; viewers neither", async () => {
    const s = await seeded();
    const others = await ask(s);
    const { apiKey } = await s.people.mia.call("POST", "/api-keys", { name: "mia", organizationId: s.org });
    const own = await ask({ agent: caller(url, { "x-api-key": apiKey }) });
    const mia = await browserOf(s, "mia");
    const page = await open(mia, `/approvals/${own}`);
    await page.locator(".approval-card").waitFor(patience);
    const wrong = [];
    const refused = async (name) => {
      const button = page.getByRole("button", { name });
      await button.waitFor(patience);
      if ((await button.getAttribute("aria-disabled")) !== "true") wrong.push(`${name} can be pressed`);
    };
    await refused(/^Approve once/);
    await page.waitForTimeout(800); // what has just come up takes no answer
    await page.keyboard.press("y");
    await page.locator(".toast", { hasText: "As a member you cannot do this" }).waitFor(patience);
    const answer = await s.people.mia
      .call("POST", `/delegation/approve?organizationId=${s.org}`, { delegationId: own })
      .then(() => "approved", String);
    if (!answer.includes("403")) wrong.push(answer);
    await s.people.bob.call("PATCH", `/organization/${s.org}/members/${s.people.mia.id}/role`, { role: "viewer" });
    await page.reload();
    await page.getByText("Your role does not read arguments.").waitFor(patience);
    for (const name of [/^Approve once/, /^Reject/, /^Change/, /^Wider/]) await refused(name);
    await env.shoot(page, "approvals-viewer");
    await page.goto(`/ui/approvals/${others}`);
    await page.getByText("There is no such request for you.").waitFor(patience);
    const vic = await browserOf(s, "vic");
    const theirs = await open(vic, "/approvals");
    await theirs.getByText("Your role has no keys, and so no requests of its own.").waitFor(patience);
    await theirs.getByRole("link", { name: "Figures" }).click();
    await theirs.getByText("Only approvers see these figures.").waitFor(patience);
    return ended(wrong, mia, vic);
  });

  test("approvals: the link of a mail opens in the organization of its request", async () => {
    const s = await seeded();
    const id = await ask(s);
    const mail = await until(() => env.server.mails().find((m) => m.includes("ann@") && m.includes("/ui/approvals")));
    const wrong = /\/ui\/approvals(\/[\w-]+)?/.test(mail) ? [] : ["the mail has no link"];
    const page = await env.page();
    await page.goto(env.within("/", env.org));
    await settled(page);
    await page.goto(`/ui/approvals/${id}`);
    await page.getByText("Opened in Approvals").waitFor(patience);
    await page.locator(".approval-card").waitFor(patience);
    if (!page.url().includes(s.org)) wrong.push(`the address is ${page.url()}`);
    wrong.push(...(await problemsOf(page)));
    await page.close();
    return wrong;
  });

  test("approvals: the browser tells of a request, without its arguments", async () => {
    const s = await seeded();
    const ann = await browserOf(s, "ann");
    // What would be shown outside the page is kept for the test; nobody looks at the page.
    await ann.addInitScript(() => {
      window.__told = [];
      document.hasFocus = () => false;
      window.Notification = class extends EventTarget {
        static permission = "default";
        static async requestPermission() {
          window.Notification.permission = "granted";
          return "granted";
        }
        constructor(title, options) {
          super();
          window.__told.push({ title, ...options });
        }
      };
    });
    const page = await open(ann, "/inbox");
    // The browser is asked first: the box is ticked a moment after the click.
    const tell = page.getByLabel("Also by this browser");
    await tell.click();
    await tell.and(page.locator(":checked")).waitFor(patience);
    await live(page);
    const id = await ask(s, "notes.write", { body: "confidential" });
    await page.waitForFunction((tag) => window.__told.some((t) => t.tag.includes(tag)), id, patience);
    const told = JSON.stringify(await page.evaluate(() => window.__told));
    const wrong = told.includes("notes.write waits for an approval") ? [] : [told];
    if (told.includes("confidential")) wrong.push("arguments are told");
    // The inbox has it too: the title counts, and the row leads to the request.
    await page.waitForFunction(() => /^\(\d+\)/.test(document.title), undefined, patience);
    await page.locator(`a[href*="${id}"]`).click();
    await page.locator(".approval-card").waitFor(patience);
    return ended(wrong, ann);
  });

  test("approvals: history and figures", async () => {
    const s = await seeded();
    const ann = await browserOf(s, "ann");
    const page = await open(ann, "/approvals?status=all");
    await page.getByRole("table", { name: "History" }).waitFor(patience);
    const wrong = [...(await axeProblems(page))];
    await env.shoot(page, "approvals-history");
    await page.getByRole("link", { name: "Figures" }).click();
    await page.getByText(/\d+ of \d+ approvals came within 2 s\./).waitFor(patience);
    await page.getByRole("row", { name: /you/ }).waitFor(patience);
    await env.shoot(page, "approvals-figures");
    wrong.push(...(await axeProblems(page)));
    await page.getByRole("link", { name: /^Rejected/ }).click();
    await page.waitForURL(/status=rejected/);
    await page.getByRole("table", { name: "History" }).getByText("Rejected").first().waitFor(patience);
    return ended(wrong, ann);
  });

  test("approvals: the request expires on the screen", async () => {
    if (!expiring) return ["it was not opened"];
    const { context, page, id } = expiring;
    await page
      .getByText("Nobody answered in time. The agent was refused and may ask again.")
      .waitFor({ timeout: 55_000 });
    const wrong = [];
    if (await yes(page).count()) wrong.push("it can be answered");
    if ((await read(await seeded(), id)).status !== "expired") wrong.push("the server says otherwise");
    await env.shoot(page, "approvals-expired");
    return ended(wrong, context);
  });
}
