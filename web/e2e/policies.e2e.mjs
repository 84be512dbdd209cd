// Policies: written, tested, replayed, shadowed and activated, by mouse and by keyboard.
import { axeProblems, problemsOf, settled, tabTo } from "./browser.mjs";
import {
  activations,
  dialogOf,
  documentOf,
  editorOf,
  newPolicy,
  press,
  save,
  tab,
  testsOf,
  textOf,
  write,
} from "./policies.acts.mjs";

export function tests({ test, env }) {
  test("policies: edited, tested, simulated, replayed, shadowed and activated by mouse", async () => {
    const wrong = [];
    const p = await newPolicy(env, "refunds");
    const page = await env.page();
    await page.goto(env.within("/policies", p.org));
    const row = page.getByRole("row").filter({ hasText: "refunds" });
    await row.getByText("Denies by default. Allows 1 kind of tools.").waitFor();
    await row.getByText("Active", { exact: true }).waitFor();
    await page.getByRole("link", { name: "refunds" }).click();

    // What is wrong is said with its place, and cannot be saved.
    await write(page, editorOf(page), textOf("refunds", 50).replace("effect: hold", "effect: hld"));
    const problem = page.getByRole("list", { name: "What is wrong" }).getByRole("button").first();
    await problem.getByText("line 10").waitFor();
    if (!(await page.getByRole("button", { name: "Save as next version" }).getAttribute("aria-disabled")))
      wrong.push("what is wrong can be saved");
    await page.locator(".cm-lintRange-error").first().waitFor();
    wrong.push(...(await axeProblems(page)));
    await env.shoot(page, "policies-wrong");
    await problem.click();
    const focus = await page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
    if (focus !== "Text of the policy, YAML") wrong.push(`a problem leads to ${focus}`);

    // Help for a function.
    await write(page, editorOf(page), textOf("refunds", 50));
    await page.getByText("Nothing is wrong with the text.").waitFor();
    await page.getByRole("list", { name: "In words" }).getByText("large: hold for shop.refund").waitFor();
    await page
      .locator(".cm-line", { hasText: "amount(args) <=" })
      .getByText("amount")
      .first()
      .hover()
      .catch(() => {});
    await page.locator(".cm-line", { hasText: "amount(args) <=" }).hover({ position: { x: 90, y: 8 } });
    await page.locator(".editor-tip").getByText("The largest of amount, value, total, price and cost").waitFor();
    await env.shoot(page, "policies-hover");
    await save(page, 2);

    await tab(page, "Tests");
    await write(page, page.getByRole("textbox", { name: "Tests, YAML" }), testsOf("allow"));
    await page.getByRole("button", { name: "Run tests" }).click();
    await page.getByRole("region", { name: "Results of the tests" }).getByText("1 of 1 fail.").waitFor();
    await page.getByText("wants Allow, gets Hold").waitFor();
    await env.shoot(page, "policies-test-fails");
    await write(page, page.getByRole("textbox", { name: "Tests, YAML" }), testsOf("hold"));
    await page.getByRole("button", { name: "Run tests" }).click();
    await page.getByText("The test passes.").waitFor();
    const simulate = page.getByRole("region", { name: "Simulate a call" });
    await simulate.getByLabel("Server").fill("shop");
    await simulate.getByLabel("Tool").fill("refund");
    await simulate.getByLabel("Arguments, JSON").fill('{"amount": 20}');
    await simulate.getByRole("button", { name: "Simulate" }).click();
    await simulate.getByRole("status").getByText("Allow", { exact: true }).first().waitFor();
    await simulate.getByRole("button", { name: "Add as a test" }).click();
    await page.getByRole("button", { name: "Run tests" }).click();
    await page.getByText("All 2 tests pass.").waitFor();
    wrong.push(...(await axeProblems(page)));
    await env.shoot(page, "policies-tests-pass");

    await tab(page, "Replay");
    await page.getByRole("button", { name: "Replay", exact: true }).click();
    await page.getByText("2 calls judged").waitFor({ timeout: 30_000 });
    const change = page.getByRole("list", { name: "Calls that would change" }).getByRole("listitem");
    await change.getByText("Allow", { exact: true }).waitFor();
    await change.getByText("Hold", { exact: true }).waitFor();
    await change.getByText("helper").waitFor();
    wrong.push(...(await axeProblems(page)));
    await env.shoot(page, "policies-replayed");

    await tab(page, "Shadow");
    await page.getByRole("button", { name: "Run version 2 as a shadow…" }).click();
    await press(page, "Start the shadow");
    await dialogOf(page).getByText("Version 2 runs as a shadow now.").waitFor();
    await press(page, "Close");
    if ((await p.refund(90)) !== "allow") wrong.push("a shadow decides");
    const figures = page.getByRole("region", { name: /^What version \d+ would have led to/ });
    await figures
      .getByRole("listitem")
      .filter({ hasText: "Would hold" })
      .getByText("1", { exact: true })
      .waitFor({ timeout: 30_000 });
    wrong.push(...(await axeProblems(page)));
    await env.shoot(page, "policies-shadow");

    await page.getByRole("button", { name: "Activate v2…" }).click();
    const summary = dialogOf(page);
    await summary.getByText("Of 2 calls in 7 days, 1 would be answered stricter, 0 looser").waitFor();
    await summary.getByText("It counts for everybody.").waitFor();
    await summary.getByRole("region", { name: "What changes" }).getByText("large").first().waitFor();
    await summary.getByRole("region", { name: "On recorded calls" }).getByText("helper").waitFor();
    wrong.push(...(await axeProblems(page)));
    await env.shoot(page, "policies-activate");
    await press(page, "Activate version 2");
    await summary.getByText("Version 2 judges every call from now on.").waitFor();
    await press(page, "Close");
    if ((await p.refund(80)) !== "hold") wrong.push("the new version does not judge");
    if ((await activations(env, p)) !== 2) wrong.push("it was activated more than once");

    // The way back.
    await tab(page, "Versions");
    await page
      .getByRole("listitem")
      .filter({ hasText: "Version 1" })
      .getByRole("button", { name: "Roll back…" })
      .click();
    await dialogOf(page).getByLabel("Type refunds to go on").fill("refunds");
    await press(page, "Roll back");
    await dialogOf(page).getByText("Version 3 is active now.").waitFor();
    await press(page, "Close");
    if ((await p.refund(80)) !== "allow") wrong.push("it was not rolled back");
    await page.getByText("version 1 restored").waitFor();
    wrong.push(...(await problemsOf(page)), ...(await axeProblems(page)));
    await env.shoot(page, "policies-versions");
    await page.close();
    return wrong;
  });

  test("policies: the same with the keyboard alone, and as a screen reader reads it", async () => {
    const wrong = [];
    const p = await newPolicy(env, "keys");
    const page = await env.page();
    await page.goto(p.path);
    await editorOf(page).waitFor();
    await settled(page);
    await tabTo(page, "Text of the policy");
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(textOf("keys", 50));
    await page.getByText("Nothing is wrong with the text.").waitFor();
    // Completion, and a way out of the editor.
    await page.keyboard.press("Control+End");
    await page.keyboard.type("  - id: third\n");
    await page.keyboard.type("eff");
    await page.getByRole("listbox").getByText("effect").waitFor();
    await page.waitForTimeout(100); // a key less than 75 ms after the list was opened is not for the list
    await page.keyboard.press("Enter");
    if (!(await editorOf(page).textContent()).includes("third    effect: ")) wrong.push("completion writes no member");
    await page.keyboard.press("Escape");
    for (let n = 0; n < 8 && (await editorOf(page).textContent()).includes("third"); n++)
      await page.keyboard.press("Control+z");
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(textOf("keys", 50));
    await page.getByText("Nothing is wrong with the text.").waitFor();
    await tabTo(page, "Save as next version");
    await page.keyboard.press("Enter");
    await page.getByText("Saved as version 2.").waitFor();

    const goTo = async (name) => {
      await page.evaluate(() => document.getElementById("content")?.focus());
      await tabTo(page, name);
      await page.keyboard.press("Enter");
    };
    await goTo("Tests");
    await page.getByRole("textbox", { name: "Tests, YAML" }).waitFor();
    await tabTo(page, "Tests, YAML");
    await page.keyboard.press("Control+a");
    await page.keyboard.insertText(testsOf("hold"));
    await tabTo(page, "Run tests");
    await page.keyboard.press("Enter");
    await page.getByText("The test passes.").waitFor();
    await goTo("Replay");
    await page.getByRole("combobox", { name: "Days" }).waitFor();
    await tabTo(page, "Days");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByText("2 calls judged").waitFor({ timeout: 30_000 });
    await goTo("Shadow");
    await page.getByText("No version runs as a shadow.").waitFor();
    await tabTo(page, "Run version 2 as a shadow…");
    await page.keyboard.press("Enter");
    await dialogOf(page).waitFor();
    await tabTo(page, "Start the shadow");
    await page.keyboard.press("Enter");
    await dialogOf(page).getByText("Version 2 runs as a shadow now.").waitFor();
    await page.keyboard.press("Enter"); // Close has the focus
    await dialogOf(page).waitFor({ state: "detached" });
    await goTo("Activate v2…");
    await dialogOf(page).getByText("1 would be answered stricter").waitFor();
    const tree = await dialogOf(page).ariaSnapshot();
    for (const part of ['heading "What changes"', 'heading "For whom"', 'button "Activate version 2"'])
      if (!tree.includes(part)) wrong.push(`the accessibility tree has no ${part}`);
    await tabTo(page, "Activate version 2");
    await page.keyboard.press("Enter");
    await dialogOf(page).getByText("Version 2 judges every call from now on.").waitFor();
    await page.keyboard.press("Enter");
    await dialogOf(page).waitFor({ state: "detached" });
    if ((await p.refund(80)) !== "hold") wrong.push("the new version does not judge");
    const whole = await page.locator("main").ariaSnapshot();
    for (const part of ['heading "keys"', 'navigation "About this policy"', 'button "Deactivate…"'])
      if (!whole.includes(part)) wrong.push(`the accessibility tree has no ${part}`);
    wrong.push(...(await problemsOf(page)), ...(await axeProblems(page)));
    await page.close();
    return wrong;
  });

  test("policies: what was not replayed wants its name typed; on a phone", async () => {
    const wrong = [];
    const p = await newPolicy(env, "phone");
    await env.owner("PUT", `/policies/${p.id}`, { ...documentOf("phone"), default: "hold" });
    const page = await env.page();
    await page.setViewportSize({ width: 360, height: 740 });
    await page.goto(env.within("/policies", p.org));
    await page.getByRole("link", { name: "phone" }).click();
    await page.getByRole("button", { name: "Activate v2…" }).click();
    await dialogOf(page).getByText("This version was not replayed.").waitFor();
    const act = dialogOf(page).getByRole("button", { name: "Activate version 2" });
    if ((await act.getAttribute("aria-disabled")) !== "true") wrong.push("nothing has to be typed");
    await dialogOf(page).getByLabel("Type phone to go on").fill("phone");
    wrong.push(...(await problemsOf(page)), ...(await axeProblems(page)));
    await env.shoot(page, "policies-phone-activate");
    await act.click();
    await dialogOf(page).getByText("Version 2 judges every call from now on.").waitFor();
    await press(page, "Close");
    wrong.push(...(await problemsOf(page)));
    await page.close();
    return wrong;
  });
}
