// Package markdown makes HTML of Markdown that nobody need trust: no scripts, styles, forms, images or frames, no
// markup that was written as such, and links to nothing but http, https and mailto. It is pure.
//
// Two libraries stand behind each other: the renderer leaves raw HTML out, and a list of what is allowed, by name, is
// held against what it made.
package markdown

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

var (
	renderer = goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough))
	allowed  = policy()
)

// policy lists what HTML may have. Everything else is taken out.
func policy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "del", "code", "pre",
		"blockquote", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td")
	p.AllowAttrs("class").Matching(regexp.MustCompile(`^language-[A-Za-z0-9_+-]{1,30}$`)).OnElements("code")
	p.AllowAttrs("start").Matching(regexp.MustCompile(`^[0-9]{1,9}$`)).OnElements("ol")
	p.AllowAttrs("href").OnElements("a")
	p.AllowURLSchemes("http", "https", "mailto")
	p.AllowRelativeURLs(false)
	p.RequireParseableURLs(true)
	p.RequireNoFollowOnLinks(true)
	p.RequireNoReferrerOnLinks(true)
	return p
}

// HTML renders a text.
func HTML(text string) (string, error) {
	var b bytes.Buffer
	if err := renderer.Convert([]byte(text), &b); err != nil {
		return "", fmt.Errorf("render Markdown: %w", err)
	}
	return string(allowed.SanitizeBytes(b.Bytes())), nil
}
