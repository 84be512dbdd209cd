package markdown_test

import (
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"writ/internal/blog/markdown"
)

func TestHTML(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"# Title\n\nText with *em*, **strong**, ~~del~~ and `code`.": "<h1>Title</h1>\n<p>Text with <em>em</em>, " +
			"<strong>strong</strong>, <del>del</del> and <code>code</code>.</p>\n",
		"[link](https://example.org/a?b=c)":             `<p><a href="https://example.org/a?b=c" rel="nofollow noreferrer">link</a></p>` + "\n",
		"<mailto:ada@example.org>":                      `<p><a href="mailto:ada@example.org" rel="nofollow noreferrer">mailto:ada@example.org</a></p>` + "\n",
		"[x](javascript:alert(1))":                      "<p>x</p>\n",
		"[x](JaVaScRiPt:alert(1))":                      "<p>x</p>\n",
		"[x](data:text/html,hi)":                        "<p>x</p>\n",
		"[x](/etc/passwd)":                              "<p>x</p>\n",
		"[x](//evil.example/)":                          "<p>x</p>\n",
		"![alt](https://example.org/x.png)":             "<p></p>\n",
		"a <script>alert(1)</script> b":                 "<p>a alert(1) b</p>\n",
		"<iframe src=\"https://example.org\"></iframe>": "\n",
		"```go\nfunc f() {}\n```":                       "<pre><code class=\"language-go\">func f() {}\n</code></pre>\n",
		"2. two":                                        "<ol start=\"2\">\n<li>two</li>\n</ol>\n",
		"|a|b|\n|-|:-:|\n|1|2|":                         "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>1</td>\n<td>2</td>\n</tr>\n</tbody>\n</table>\n",
	} {
		if got, err := markdown.HTML(text); got != want || err != nil {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

var (
	elements = []string{"p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "del", "code", "pre",
		"blockquote", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "a"}
	fragments = []string{
		"<script>", "</script>", "<img src=x onerror=alert(1)>", "[", "](", ")", "javascript:",
		"java\nscript:", "&#106;avascript:", "https://example.org", "mailto:a@b.c", "`", "```", "\n\n", "\n",
		"> ", "- ", "1. ", "|", "|-|", "*", "**", "~~", "<", ">", "\"", "'", "&lt;", "&", "<a href=",
		"onclick=", "<svg/onload=x>", "<!--", "-->", "<![CDATA[", "]]>", "<style>", "[x]: ", "![", "\\",
		"\x00", "\xff", "é", "\t", "    ", "# ", "<http://", "data:text/html;base64,",
		"<math><mi//xlink:href=", "vbscript:", "\u202e", " title=\"", "<p style=x>",
	}
)

// TestNothingActive: whatever is written, a browser finds only listed elements, and links that lead to the web or a
// mailbox.
func TestNothingActive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(fragments), rapid.String()), 0, 40).
			Draw(t, "text"), "")
		got, err := markdown.HTML(text)
		if err != nil {
			t.Fatal(err)
		}
		tokens := html.NewTokenizer(strings.NewReader(got))
		for tokens.Next() != html.ErrorToken {
			token := tokens.Token()
			switch token.Type {
			case html.TextToken, html.CommentToken:
				continue
			}
			if !slices.Contains(elements, token.Data) {
				t.Fatalf("%q has the element %s: %s", text, token.Data, got)
			}
			for _, a := range token.Attr {
				checkAttribute(t, token.Data, a, got)
			}
		}
		if tokens.Err() != io.EOF {
			t.Fatal(tokens.Err())
		}
	})
}

func checkAttribute(t *rapid.T, element string, a html.Attribute, got string) {
	t.Helper()
	switch element + " " + a.Key {
	case "code class", "ol start", "a rel":
		return
	case "a href":
		to, err := url.Parse(a.Val)
		if err == nil && slices.Contains([]string{"http", "https", "mailto"}, to.Scheme) {
			return
		}
	}
	t.Fatalf("%s has %s=%q: %s", element, a.Key, a.Val, got)
}

// TestDeepText ends, whatever is nested how deep.
func TestDeepText(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{">", "[", "*", "- ", "`", "(", "<", "![", "_a "} {
		if _, err := markdown.HTML(strings.Repeat(piece, 20_000/len(piece))); err != nil {
			t.Errorf("%q: %v", piece, err)
		}
	}
}
