// The blog from beginning to end: an operator writes, everybody reads what is published.
import { axeProblems, openContext, problemsOf, settled } from "./browser.mjs";

const hostile = 'Agents *declare* <img src=x onerror="window.__xss=1"> [here](javascript:window.__xss=2).';

export function tests({ test, env }) {
  test("journey: write a post, publish it, let everybody read it, change, withdraw and delete it", async () => {
    const wrong = [];
    const page = await env.page();
    await page.goto(env.within("/installation/blog", env.org));
    await page.getByRole("link", { name: "New post" }).click();
    await page.getByLabel("Title").fill("Plans before tools");
    if ((await page.getByLabel("Address").inputValue()) !== "plans-before-tools") wrong.push("no address is suggested");
    await page.getByLabel("Text").fill(hostile);
    await page.getByRole("button", { name: "Preview" }).click();
    await page.getByText("As you wrote it. It is not saved yet.").waitFor();
    await page.locator(".article em", { hasText: "declare" }).waitFor();
    if ((await page.locator(".article :is(a, img, script)").count()) > 0)
      wrong.push("the preview has something active");
    wrong.push(...(await axeProblems(page)));
    await env.shoot(page, "installation-post-preview");
    // What was typed stays.
    await page.reload();
    await page.getByRole("button", { name: "Save the draft" }).click();
    await page.getByRole("heading", { name: "What readers get" }).waitFor();
    await page.locator(".article em", { hasText: "declare" }).waitFor();

    const readers = await openContext(env.browser, env.server.url);
    const reader = await readers.newPage();
    await reader.goto("/ui/blog/plans-before-tools");
    await reader.getByText("There is no such post.").waitFor();

    await page.getByRole("button", { name: "Publish…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Publish" }).click();
    await page.getByText("The post is published.").waitFor();
    await reader.goto("/ui/blog");
    await reader.getByRole("link", { name: "Plans before tools" }).click();
    await reader.getByRole("heading", { name: "Plans before tools", level: 1 }).waitFor();
    await reader.locator(".article em", { hasText: "declare" }).waitFor();
    if ((await reader.locator(".article :is(a, img, script)").count()) > 0) wrong.push("something active is shown");
    wrong.push(...(await problemsOf(reader)), ...(await axeProblems(reader)));

    wrong.push(...(await changedMeanwhile(env, page)));
    wrong.push(...(await savedBelowDialog(env, page)));

    await page.getByRole("button", { name: "Withdraw…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Withdraw" }).click();
    await page.getByText("The post is a draft again.").waitFor();
    await reader.reload();
    await reader.getByText("There is no such post.").waitFor();
    await readers.close();

    await page.getByRole("button", { name: "Delete…" }).click();
    await page.getByLabel("Type plans-before-tools to go on").fill("plans-before-tools");
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("The post is deleted.").waitFor();
    await page.getByRole("heading", { name: "Posts of the blog" }).waitFor();
    await settled(page);
    if (await page.getByRole("link", { name: "Plans before tools" }).isVisible()) wrong.push("it is still listed");
    wrong.push(...(await problemsOf(page)));
    await page.close();
    return wrong;
  });
}

/** changedMeanwhile has a colleague save first: nothing is overwritten unread. */
async function changedMeanwhile(env, page) {
  const wrong = [];
  const id = new URL(page.url()).pathname.split("/").at(-1);
  const { slug, title, summary, revision } = await env.owner("GET", `/admin/blog/posts/${id}`);
  await page.getByLabel("Text").fill("Mine.");
  const theirs = { slug, title, summary, body: "Theirs.", revision };
  await env.owner("PUT", `/admin/blog/posts/${id}`, theirs);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Somebody changed this post meanwhile.").waitFor();
  wrong.push(...(await axeProblems(page)));
  await env.shoot(page, "installation-post-conflict");
  if ((await page.getByLabel("Text").inputValue()) !== "Mine.") wrong.push("what was typed is gone");
  await page.locator(".article", { hasText: "Theirs." }).waitFor();
  await page.getByRole("button", { name: "Keep mine, on top of theirs" }).click();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.locator(".article", { hasText: "Mine." }).waitFor();
  return wrong;
}

/** savedBelowDialog has a colleague save while the dialog is open and the page reads it: what was not on screen is refused. */
async function savedBelowDialog(env, page) {
  const wrong = [];
  const path = `/admin/blog/posts/${new URL(page.url()).pathname.split("/").at(-1)}`;
  const { slug, title, summary, revision } = await env.owner("GET", path);
  await page.getByRole("button", { name: "Withdraw…" }).click();
  await env.owner("PUT", path, { slug, title, summary, body: "Unseen.", revision });
  const withdraw = page.getByRole("dialog").getByRole("button", { name: "Withdraw" });
  // The first answer has the page read the post again, below the dialog.
  for (const n of [1, 2]) {
    const answered = page.waitForResponse((r) => r.url().endsWith(`${path}/withdraw`));
    await withdraw.click();
    const status = (await answered).status();
    if (status !== 409) wrong.push(`time ${n}: a revision that was not on screen is answered ${status}`);
    await page.locator(".article", { hasText: "Unseen." }).waitFor();
  }
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  return wrong;
}
