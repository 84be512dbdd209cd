// Policies: what goes wrong in the middle.
import { join } from "./agents.seed.mjs";
import { axeProblems, problemsOf } from "./browser.mjs";
import {
  activations,
  dialogOf,
  documentOf,
  editorOf,
  newPolicy,
  press,
  save,
  signedIn,
  textOf,
  write,
} from "./policies.acts.mjs";

export function tests({ test, env }) {
  test("policies: the answer to an activation is lost, and it is not sent twice", async () => {
    const wrong = [];
    const p = await newPolicy(env, "lost");
    await env.owner("PUT", `/policies/${p.id}`, { ...documentOf("lost"), default: "ask" });
    const page = await env.page();
    let sent = 0;
    let reaches = false;
    await page.route("**/activate", async (route) => {
      sent++;
      if (reaches) await route.fetch();
      return route.abort("connectionreset");
    });
    await page.goto(p.path);
    await page.getByRole("button", { name: "Activate v2…" }).click();
    await dialogOf(page).getByLabel("Type lost to go on").fill("lost");
    await press(page, "Activate version 2");
    await dialogOf(page).getByRole("alert").getByText("it is not known whether this was done").waitFor();
    await press(page, "Ask the server");
    await dialogOf(page).getByText("the server has not done it").waitFor();
    reaches = true;
    await press(page, "Activate version 2");
    await press(page, "Ask the server");
    await dialogOf(page).getByText("Version 2 judges every call from now on.").waitFor();
    await env.shoot(page, "policies-found");
    if (sent !== 2) wrong.push(`it was sent ${sent} times`);
    if ((await activations(env, p)) !== 2) wrong.push("it was activated more than once");
    wrong.push(...(await problemsOf(page)));
    await page.close();
    return wrong;
  });

  test("policies: two people activate at once, and each sees what is true", async () => {
    const wrong = [];
    const p = await newPolicy(env, "both");
    await env.owner("PUT", `/policies/${p.id}`, { ...documentOf("both"), default: "ask" });
    const theirs = await signedIn(env, await join(env, p.org, "policy-admin@example.org", "admin"));
    const page = await env.page();
    for (const one of [page, theirs.page]) {
      await one.goto(p.path);
      await one.getByRole("button", { name: "Activate v2…" }).click();
      await dialogOf(one).getByLabel("Type both to go on").fill("both");
    }
    await press(page, "Activate version 2");
    await dialogOf(page).getByText("Version 2 judges every call from now on.").waitFor();
    await press(theirs.page, "Activate version 2");
    await dialogOf(theirs.page).getByRole("alert").getByText("version 2 is active by now").waitFor();
    const again = dialogOf(theirs.page).getByRole("button", { name: "Activate version 2" });
    if ((await again.getAttribute("aria-disabled")) !== "true") wrong.push("what conflicts can be sent again");
    await env.shoot(theirs.page, "policies-conflict");
    await press(theirs.page, "Cancel");
    if ((await activations(env, p)) !== 2) wrong.push("it was activated twice");

    // They write at once too. A page reads its policy again from time to time: theirs does not before it has sent.
    await press(page, "Close");
    let read = () => {};
    const sent = new Promise((done) => {
      read = done;
    });
    const late = async (route) => {
      if (route.request().method() === "GET") await sent;
      else read();
      return route.continue();
    };
    await theirs.page.route(`**/policies/${p.id}`, late);
    await theirs.page.route(`**/policies/${p.id}?*`, late);
    for (const [one, limit] of [
      [page, 10],
      [theirs.page, 99],
    ])
      await write(one, editorOf(one), textOf("both", limit));
    await save(page, 3);
    await theirs.page.getByText("Nothing is wrong with the text.").waitFor();
    await theirs.page.getByRole("button", { name: "Save as next version" }).click();
    await theirs.page.getByText("Version 3 was written while you wrote. Nothing of yours was stored.").waitFor();
    await theirs.page.locator(".line-row.minus", { hasText: "amount(args) <= 10" }).waitFor();
    await theirs.page.locator(".line-row.plus", { hasText: "amount(args) <= 99" }).waitFor();
    wrong.push(...(await axeProblems(theirs.page)));
    await env.shoot(theirs.page, "policies-both-wrote");
    await theirs.page.getByRole("button", { name: "Keep mine, on top of theirs" }).click();
    await save(theirs.page, 4);
    wrong.push(...(await problemsOf(page)), ...(await problemsOf(theirs.page)));
    await page.close();
    await theirs.context.close();
    return wrong;
  });

  test("policies: the session ends in the middle: the text stays, and the activation waits", async () => {
    const wrong = [];
    const p = await newPolicy(env, "session");
    const person = await join(env, p.org, "policy-session@example.org", "admin");
    const { context, page } = await signedIn(env, person);
    await page.goto(p.path);
    await write(page, editorOf(page), textOf("session", 30));
    await page.getByText("Your changes are kept in this tab.").waitFor();
    await page.reload();
    await page.getByText("Your changes are kept in this tab.").waitFor();
    await save(page, 2);
    await page.getByRole("button", { name: "Activate v2…" }).click();
    await dialogOf(page).getByLabel("Type session to go on").fill("session");
    // Not before: the page may notice by itself, and ask above the dialog.
    const ending = async (route) => {
      await endSessions(person);
      await route.continue();
    };
    await page.route("**/activate", ending, { times: 1 });
    await press(page, "Activate version 2");
    const again = page.getByRole("dialog", { name: /sign in again/i });
    await again.waitFor();
    if ((await activations(env, p)) !== 1) wrong.push("it was sent without a session");
    await again.getByLabel("Password").fill(person.password);
    await again.getByRole("button", { name: /sign in/i }).click();
    await page.getByText("Version 2 judges every call from now on.").waitFor();
    if ((await activations(env, p)) !== 2) wrong.push("it was not sent once");
    wrong.push(...(await problemsOf(page)));
    await context.close();
    return wrong;
  });
}

// All sessions but the one that asks; the page's own is among them.
async function endSessions(person) {
  for (const s of (await person.call("GET", "/auth/sessions")).items ?? [])
    if (!s.current) await person.call("DELETE", `/auth/sessions/${s.id}`);
}
