// Approvals: whatever goes wrong between a page and the server is shown truly.
import { deskOf, patience } from "./approvals.desk.mjs";
import { ask } from "./approvals.seed.mjs";

export function tests({ test, env }) {
  const { seeded, browserOf, open, read, ended, posts, yes, awake, live } = deskOf(env);

  test("approvals: two people answer at once", async () => {
    const s = await seeded();
    const bob = await browserOf(s, "bob");
    const id = await ask(s);
    const page = await open(bob, `/approvals/${id}`);
    await awake(page);
    // Ann is quicker, and Bob's page does not hear of it before it sends.
    await page.route("**/delegation/approve*", async (route) => {
      await s.people.ann.call("POST", `/delegation/reject?organizationId=${s.org}`, { delegationId: id, note: "mine" });
      await route.continue();
    });
    const sent = posts(page, "/delegation/approve");
    await yes(page).click();
    await page.getByText("Your answer does not count").waitFor(patience);
    await page.getByText("Answered by ann").waitFor(patience);
    await page.getByText("mine").first().waitFor();
    await env.shoot(page, "approvals-late");
    const wrong = [];
    if (await yes(page).count()) wrong.push("it can be answered again");
    const now = await read(s, id);
    if (now.status !== "rejected" || now.decidedBy !== s.people.ann.id) wrong.push(`it is ${now.status}`);
    if (sent.length !== 1) wrong.push(`it was sent ${sent.length} times`);
    return ended(wrong, bob);
  });

  test("approvals: a colleague answers while somebody writes a reason", async () => {
    const s = await seeded();
    const ann = await browserOf(s, "ann");
    const [id, next] = [await ask(s), await ask(s)];
    const page = await open(ann, `/approvals?id=${id}`);
    await awake(page);
    await live(page);
    await page.getByRole("button", { name: /^Reject/ }).click();
    const reason = page.getByRole("dialog").getByLabel("Reason");
    await reason.pressSequentially("I would ");
    await s.people.bob.call("POST", `/delegation/reject?organizationId=${s.org}`, { delegationId: id, note: "bob's" });
    await page.getByRole("alert").filter({ hasText: "Rejected meanwhile by bob" }).waitFor(patience);
    // Keys of the queue: without the dialog they would go to the next request and answer it.
    await page.keyboard.type("enjoy", { delay: 100 });
    const wrong = [];
    if ((await reason.inputValue()) !== "I would enjoy") wrong.push(`it says ${await reason.inputValue()}`);
    if (!page.url().includes(id)) wrong.push(`the page went to ${page.url()}`);
    if (!(await page.locator('[role=dialog] [type=submit][aria-disabled="true"]').count()))
      wrong.push("it can be sent");
    if ((await read(s, next)).status !== "pending") wrong.push("the next request was answered");
    await s.people.bob.call("POST", `/delegation/reject?organizationId=${s.org}`, { delegationId: next, note: "no" });
    return ended(wrong, ann);
  });

  for (const arrives of [true, false])
    test(`approvals: the network drops, and the answer ${arrives ? "had arrived" : "had not"}`, async () => {
      const s = await seeded();
      const ann = await browserOf(s, "ann");
      const id = await ask(s);
      const page = await open(ann, `/approvals/${id}`);
      await awake(page);
      const sent = posts(page, "/delegation/approve");
      let readable = true;
      // The request cannot be read either, until that was seen.
      await page.route(`**/delegation/requests/${id}*`, (route) => (readable ? route.continue() : route.abort()));
      await page.route("**/delegation/approve*", async (route) => {
        readable = false;
        if (arrives) await route.fetch();
        await route.abort();
      });
      await yes(page).click();
      await page.getByText("It is not known whether yours arrived").waitFor(patience);
      const wrong = [];
      if ((await yes(page).getAttribute("aria-disabled")) !== "true") wrong.push("it can be sent before it was read");
      await env.shoot(page, `approvals-unknown-${arrives}`);
      readable = true;
      await page
        .getByText(arrives ? "It waits for the agent" : "had not arrived when the request was read")
        .waitFor(patience);
      if (sent.length !== 1) wrong.push(`it was sent ${sent.length} times`);
      const { status } = await read(s, id);
      if (status !== (arrives ? "approved" : "pending")) wrong.push(`it is ${status}`);
      if (!arrives) {
        await page.unroute("**/delegation/approve*");
        await awake(page);
        await yes(page).click();
        await page.getByText("It waits for the agent").waitFor(patience);
      }
      return ended(wrong, ann);
    });

  test("approvals: the session ends in the middle", async () => {
    const s = await seeded();
    const ann = await browserOf(s, "ann");
    const id = await ask(s);
    const page = await open(ann, `/approvals/${id}`);
    await awake(page);
    const taken = [];
    page.on("response", (r) => r.url().includes("/delegation/approve") && r.ok() && taken.push(r));
    // However long that takes, the answer gets to the server when her sessions have ended.
    const { items } = await s.people.ann.call("GET", "/auth/sessions");
    const ending = async (route) => {
      for (const session of items.filter((i) => !i.current))
        await s.people.ann.call("DELETE", `/auth/sessions/${session.id}`);
      await route.continue();
    };
    await page.route("**/delegation/approve*", ending, { times: 1 });
    await yes(page).click();
    await page.getByText("in 2 s").waitFor();
    const dialog = page.getByRole("dialog", { name: "Sign in again" });
    await dialog.waitFor(patience);
    const wrong = [];
    if ((await read(s, id)).status !== "pending") wrong.push("it was answered without a session");
    await dialog.getByLabel("Password").fill(s.password);
    await dialog.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByText("It waits for the agent").waitFor(patience);
    if (taken.length !== 1) wrong.push(`it was taken ${taken.length} times`);
    return ended(wrong, ann);
  });
}
