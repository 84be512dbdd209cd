import { expect, it } from "vitest";
import { type Piece, readArticle } from "./read";

/** flat writes pieces so that a test can be read. */
const flat = (pieces: Piece[]): string =>
  pieces
    .map((p) =>
      typeof p === "string"
        ? p.replace(/\n/g, "¶")
        : `(${p.tag}${p.href ? ` to ${p.href}` : ""}${p.start ? ` from ${p.start}` : ""}: ${flat(p.inside)})`,
    )
    .join("");

it("reads what the server makes of Markdown", () => {
  const made =
    '<h1>Title</h1>\n<p>Text with <em>em</em>, <a href="https://example.org/a?b=c&amp;d" rel="nofollow noreferrer">a ' +
    'link</a><br>\nand <code>a &lt; b</code>.</p>\n<hr>\n<ol start="2">\n<li>two</li>\n</ol>\n';
  expect(flat(readArticle(made))).toBe(
    "(h1: Title)(p: Text with (em: em), (a to https://example.org/a?b=c&d: a link)(br: )¶and (code: a < b).)" +
      "(hr: )(ol from 2: (li: two))",
  );
  expect(flat(readArticle('<pre><code class="language-go">func f() {}\n</code></pre>\n'))).toBe(
    "(pre: (code: func f() {}¶))",
  );
  expect(flat(readArticle("<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n</table>\n"))).toBe(
    "(table: (thead: (tr: (th: a))))",
  );
});

it("reads escapes once", () => {
  expect(readArticle("&amp;lt;script&amp;gt; &#34;&#39;&quot;&#x41; &unknown; &#0; &#9999999;")).toEqual([
    '&lt;script&gt; "\'"A &unknown; &#0; &#9999999;',
  ]);
});

it.each([
  ["<p>a<script>alert(1)</script></p>", "(p: aalert(1))"],
  ['<p><img src="x" onerror="alert(1)">b</p>', "(p: b)"],
  ['<a href="javascript:alert(1)">x</a>', "(a: x)"],
  ['<a href="JAVA&#115;cript:alert(1)">x</a>', "(a: x)"],
  ['<a href="//evil.example/">x</a>', "(a: x)"],
  ['<a href="/ui/settings">x</a>', "(a: x)"],
  ['<p style="x" onclick="y">x</p>', "(p: x)"],
  ["<iframe></iframe><svg onload=alert(1)>", "<svg onload=alert(1)>"],
  ["<!-- <p>hidden</p> -->shown", "shown"],
  ["<p>never closed", "(p: never closed)"],
  ["</p></div>only ends", "only ends"],
  ["a < b", "a < b"],
])("gives nothing active: %s", (html, want) => {
  expect(flat(readArticle(html))).toBe(want);
});

it("keeps the text of what is nested too deep", () => {
  const deep = `${"<blockquote>".repeat(5000)}end${"</blockquote>".repeat(5000)}`;
  let [piece] = readArticle(deep);
  let depth = 0;
  while (typeof piece === "object") {
    depth += 1;
    piece = piece.inside[0];
  }
  expect([depth, piece]).toEqual([40, "end"]);
});
