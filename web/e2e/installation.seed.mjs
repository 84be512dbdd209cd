// What an installation has beside its organizations: requests for access and posts, in hostile words.
import { caller, elsewhere } from "./server.mjs";
import { corpus, evil } from "./xss.mjs";

/** seedInstallation asks for access, answers some of it, and writes posts. The caller is an operator. */
export async function seedInstallation(url, operator) {
  for (const n of [0, 1, 2, 3, 4])
    await caller(url, elsewhere())("POST", "/access-requests", {
      email: `asks${n}@example.org`,
      name: evil(n).slice(0, 100),
      company: evil(n + 1).slice(0, 100),
      message: n === 4 ? "long ".repeat(399) : `${evil(n)} ${corpus[8]}`,
    });
  const { items } = await operator("GET", "/access-requests?status=pending&limit=100");
  const [first, second] = items;
  await operator("POST", `/access-requests/${first.id}/approve`, {});
  await operator("POST", `/access-requests/${second.id}/reject`, { reason: evil(1) });
  const published = await operator("POST", "/admin/blog/posts", post("hostile-post", 0));
  await operator("POST", `/admin/blog/posts/${published.id}/publish`, { revision: published.revision });
  const draft = await operator("POST", "/admin/blog/posts", post("a-draft", 1));
  return { published: published.id, draft: draft.id };
}

const post = (slug, n) => ({ slug, title: evil(n).slice(0, 200), summary: evil(n + 1).slice(0, 500), body: body() });

/** body is a post with everything that Markdown has, and everything that it must not become. */
function body() {
  return [
    "# What changed",
    "Agents *declare* **plans** and ~~nothing else~~, see [the page](https://example.org/a?b=c) or <ada@example.org>.",
    "## In short",
    "1. one\n2. two\n   - nested `code`",
    "> A quotation,\n> of two lines.",
    "```go\nfunc main() { println(`a < b && c`) }\n```",
    "| rule | effect | and a long head that needs room | another one |\n|---|---|---|---|\n| large | hold | 1 | 2 |",
    "---",
    ...corpus.map((text) => `${text}\n\n[link](${text.slice(0, 100)})`),
    '<a href="javascript:window.__xss=10">x</a><iframe src="https://example.org"></iframe>',
  ].join("\n\n");
}
