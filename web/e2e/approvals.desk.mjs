// The desk of somebody who answers: browsers of several people, and what they look at.
import { agentOf, seedApprovals } from "./approvals.seed.mjs";
import { openContext, problemsOf, signInContext } from "./browser.mjs";

/** phone is the browser of somebody on the way. */
export const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
export const patience = { timeout: 20_000 };

/** deskOf is what tests of approvals begin with. */
export function deskOf(env) {
  const { url } = env.server;
  /** The organization that tests share, and an agent for one of them alone. */
  const seeded = async () => {
    env.approvals ??= seedApprovals(env);
    const s = await env.approvals;
    return { ...s, ...(await agentOf(env, s.org)) };
  };
  /** A browser of somebody's own. */
  const browserOf = async (s, name, options = {}) => {
    const context = await openContext(env.browser, url, options);
    await signInContext(context, url, s.people[name].email, s.password);
    return context;
  };
  const open = async (context, path) => {
    const page = await context.newPage();
    await page.goto(`/ui${path}`);
    return page;
  };
  const read = (s, id) => s.people.bob.call("GET", `/delegation/requests/${id}?organizationId=${s.org}`);
  /** Ends with what is wrong in the pages of the contexts. */
  const ended = async (wrong, ...contexts) => {
    for (const context of contexts) {
      for (const page of context.pages()) wrong.push(...(await problemsOf(page)));
      await context.close();
    }
    return wrong;
  };
  /** posts counts what a page sends to a path. */
  const posts = (page, path) => {
    const sent = [];
    page.on("request", (r) => r.method() === "POST" && new URL(r.url()).pathname === path && sent.push(r));
    return sent;
  };
  const yes = (page) => page.getByRole("button", { name: /^Approve once/ });
  const awake = (page) => page.locator('.approval-yes:not([aria-disabled="true"])').waitFor(patience);
  /** live is when a page hears of what others do. */
  const live = (page) => page.getByText("Live", { exact: true }).waitFor(patience);
  return { seeded, browserOf, open, read, ended, posts, yes, awake, live };
}
