// What the tests of policies do on their screens, and a policy to begin with.
import { openContext, signInContext } from "./browser.mjs";
import { caller } from "./server.mjs";

export const dialogOf = (page) => page.getByRole("dialog");
export const press = (page, name) => dialogOf(page).getByRole("button", { name }).click();
export const tab = (page, name) =>
  page.getByRole("navigation", { name: "About this policy" }).getByRole("link", { name }).click();
export const editorOf = (page) => page.getByRole("textbox", { name: "Text of the policy, YAML" });

export const textOf = (name, limit) => `version: v1
name: ${name}
default: deny
rules:
  - id: small
    effect: allow
    tools: [shop.refund]
    when: amount(args) <= ${limit}
  - id: large
    effect: hold
    tools: [shop.refund]
    when: amount(args) > ${limit}
`;

export const testsOf = (decision) => `policy: policy.yaml
tests:
  - name: a refund of 80
    call: {server: shop, tool: refund, arguments: {amount: 80}}
    want: {decision: ${decision}}
`;

/** newPolicy is an organization in which an agent has refunded 20 and 80 under an active policy. */
export async function newPolicy(env, name) {
  const org = await env.owner("POST", "/organization", { name: `Policies of ${name}` });
  const within = `organizationId=${org.id}`;
  const { apiKey } = await env.owner("POST", "/api-keys", { name: "key", organizationId: org.id });
  const made = await env.owner("POST", `/policies?${within}`, documentOf(name));
  await env.owner("POST", `/policies/${made.id}/activate`, { version: 1 });
  const agent = caller(env.server.url, { "x-api-key": apiKey });
  const refund = async (amount) =>
    (
      await agent("POST", "/iap/enforce", {
        tool_name: "refund",
        tool_input: { amount },
        agent_id: "helper",
        session_id: "s",
        mcp_context: { server_name: "shop", tool_name: "refund" },
      })
    ).decision;
  await refund(20);
  await refund(80);
  return { id: made.id, org: org.id, within, refund, agent, path: env.within(`/policies/${made.id}`, org.id) };
}

export const documentOf = (name) => ({
  version: "v1",
  name,
  default: "deny",
  rules: [{ id: "all", effect: "allow", tools: ["shop.refund"] }],
});

export const activations = async (env, p) =>
  (await env.owner("GET", `/audit-log/entries?${p.within}&action=policy.activated&limit=100`)).items.length;

/** write replaces what an editor has, as a person pastes it. */
export async function write(page, editor, text) {
  await editor.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
}

export async function save(page, version) {
  await page.getByRole("button", { name: "Save as next version" }).click();
  await page.getByText(`Saved as version ${version}.`).waitFor();
}

/** signedIn is a page of somebody else. */
export async function signedIn(env, { email, password }) {
  const context = await openContext(env.browser, env.server.url);
  await signInContext(context, env.server.url, email, password);
  return { context, page: await context.newPage() };
}
