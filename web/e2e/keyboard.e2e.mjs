// What people do to policies and servers, with the keyboard alone; and what a screen reader has of it.
import { axeProblems, problemsOf, settled, tabTo } from "./browser.mjs";
import { startMcp, tool } from "./mcp.mjs";
import { newPolicy } from "./policies.acts.mjs";
import { profileOf } from "./policies.seed.mjs";
import { caller } from "./server.mjs";
import { newServer } from "./servers.e2e.mjs";

const dialogOf = (page) => page.getByRole("dialog");

const documentOf = (limit) => ({
  version: "v1",
  name: "typed",
  default: "deny",
  rules: [
    { id: "small", effect: "allow", tools: ["shop.refund"], when: `amount(args) <= ${limit}` },
    { id: "large", effect: "hold", tools: ["shop.refund"], when: `amount(args) > ${limit}` },
  ],
});

/** hands are a person without a mouse. */
function hands(page) {
  const key = (name) => page.keyboard.press(name);
  const press = async (name) => {
    await tabTo(page, name);
    await key("Enter");
  };
  return {
    key,
    press,
    /** Begins at the content, as the skip link does. */
    go: async (name) => {
      await page.evaluate(() => document.getElementById("content")?.focus());
      await press(name);
    },
    type: async (name, text) => {
      await tabTo(page, name);
      await page.keyboard.type(text);
    },
    tick: async (name) => {
      await tabTo(page, name);
      await key(" ");
    },
    /** Ends a dialog that has done its work: Close has the focus. */
    close: async () => {
      await key("Enter");
      await dialogOf(page).waitFor({ state: "detached" });
    },
  };
}

/** unread is what of these a screen reader does not find in the dialog. */
async function unread(page, ...parts) {
  const tree = await dialogOf(page).ariaSnapshot();
  return parts.filter((part) => !tree.includes(part)).map((part) => `a screen reader finds no ${part}`);
}

const ended = async (page, wrong) => {
  wrong.push(...(await problemsOf(page)), ...(await axeProblems(page)));
  await page.close();
  return wrong;
};

export function tests({ test, env }) {
  test("keyboard: a call is simulated, a version rolled back, and a policy bound", async () => {
    const wrong = [];
    const p = await newPolicy(env, "typed");
    await env.owner("PUT", `/policies/${p.id}`, documentOf(50));
    await env.owner("POST", `/policies/${p.id}/activate`, { version: 2 });
    const page = await env.page();
    const person = hands(page);
    await page.goto(`${p.path}&tab=tests`);
    const simulate = page.getByRole("region", { name: "Simulate a call" });
    await simulate.waitFor();
    await settled(page);
    await person.type("Server", "shop");
    await person.type("Tool", "refund");
    await tabTo(page, "Arguments, JSON");
    await person.key("Control+a");
    await page.keyboard.insertText('{"amount": 20}');
    await person.press("Simulate");
    await simulate.getByRole("status").getByText("Allow", { exact: true }).first().waitFor();
    const said = await simulate.ariaSnapshot();
    if (!said.includes("status")) wrong.push("what was simulated is not announced");

    await person.go("Versions");
    await page.getByRole("listitem").filter({ hasText: "Version 1" }).waitFor();
    await person.go("Roll back…");
    await dialogOf(page).waitFor();
    wrong.push(...(await unread(page, 'textbox "Type typed to go on"', 'button "Roll back"')));
    await person.type("Type typed to go on", "typed");
    await person.press("Roll back");
    await dialogOf(page).getByText("Version 3 is active now.").waitFor();
    await person.close();
    if ((await p.refund(80)) !== "allow") wrong.push("it was not rolled back");

    await person.go("Bindings");
    await page.getByText("It applies to everybody.").waitFor();
    await person.go("Change…");
    await dialogOf(page).waitFor();
    wrong.push(...(await unread(page, 'radio "Only those named here"')));
    await tabTo(page, "Everybody");
    await person.key("ArrowDown");
    wrong.push(...(await unread(page, 'checkbox "viewer"')));
    await person.tick("viewer");
    await person.type("Keys and agents, one on each line", "helper");
    await person.type("Type typed to go on", "typed");
    await person.press("Apply");
    await dialogOf(page).getByText("Done. It applies to those named now.").waitFor();
    await person.close();
    await page.getByText("It applies only to these:").waitFor();
    return ended(page, wrong);
  });

  test("keyboard: a plugin's proposal is confirmed", async () => {
    const wrong = [];
    const p = await newPolicy(env, "pressed");
    await env.owner("POST", `/policies/${p.id}/deactivate`);
    const { apiKey } = await env.owner("POST", "/api-keys", {
      name: "plugin",
      organizationId: p.org,
      scopes: ["enforce", "profile.propose"],
    });
    const plugin = caller(env.server.url, { "x-api-key": apiKey });
    await plugin("PUT", "/policies/profiles/draft", profileOf("careful", "rm"));
    const proposed = await plugin("POST", "/policies/profiles/propose", { reason: "after Tuesday" });
    const page = await env.page();
    const person = hands(page);
    await page.goto(env.within("/policies", p.org));
    await page.getByText("1 proposal of a plugin waits.").waitFor();
    await settled(page);
    await person.go("Read them");
    await page.getByRole("heading", { name: "Proposals of plugins" }).waitFor();
    await person.go("careful");
    await page.getByText(proposed.hash).waitFor();
    await person.go("Confirm…");
    await dialogOf(page).waitFor();
    wrong.push(...(await unread(page, 'textbox "Type confirm to go on"', 'button "Confirm"')));
    await person.type("Type confirm to go on", "confirm");
    await person.press("Confirm");
    await dialogOf(page).getByText("It is in force.").waitFor();
    await person.close();
    const active = await env.owner("GET", `/policies/profiles/active?${p.within}`);
    if (active.hash !== proposed.hash) wrong.push(`in force is ${active.hash}`);
    return ended(page, wrong);
  });

  test("keyboard: a server is registered, and a changed tool accepted", async () => {
    const wrong = [];
    const s = await newServer(env, "typed", [tool("add", "Adds two numbers.")]);
    const other = await startMcp([tool("draw", "Draws a number.")]);
    const page = await env.page();
    const person = hands(page);
    await page.goto(env.within("/servers", s.org));
    await page.getByRole("link", { name: "typed" }).waitFor();
    await settled(page);
    await person.go("Register a server…");
    await dialogOf(page).waitFor();
    wrong.push(...(await unread(page, 'textbox "Name"', 'textbox "Address"', 'button "Register"')));
    wrong.push(...(await axeProblems(page)));
    await person.type("Name", "lots");
    await person.type("Address", other.url);
    await env.shoot(page, "servers-register");
    await person.press("Register");
    await dialogOf(page).getByText("is asked what it offers").waitFor();
    await person.close();
    const all = await env.owner("GET", `/mcp/servers?${s.within}`);
    const made = all.servers.find((found) => found.name === "lots");
    if (made?.url !== other.url) wrong.push(`registered is ${JSON.stringify(all)}`);

    s.mcp.set([tool("add", "Adds two numbers, and mails them.")]);
    await env.owner("POST", `/mcp/servers/${s.id}/refresh?${s.within}`);
    await page.goto(env.within(`/servers/${s.id}`, s.org));
    const card = page.getByRole("list", { name: "Tools" }).getByRole("listitem").filter({ hasText: "add" });
    await card.getByText("Changed", { exact: true }).waitFor();
    await person.go("Accept…");
    await dialogOf(page).getByText("mails them").first().waitFor();
    wrong.push(...(await unread(page, 'textbox "Reason"', 'button "Accept"')));
    await person.type("Reason", "the mails are ours");
    await person.press("Accept");
    await dialogOf(page).getByText("its calls are decided by the policies again").waitFor();
    await person.close();
    if ((await s.ask("add")).decision !== "allow") wrong.push("it is still held");
    s.mcp.stop();
    other.stop();
    return ended(page, wrong);
  });
}
