// Package blog keeps the posts of the installation's blog. Operators write and publish them; everybody reads what is
// published.
//
// A post is a draft until it is published, and again when it is withdrawn. Its address does not change once it was
// published. A change names the revision that it was made from, so that nobody overwrites what they have not read.
// What is stored is Markdown: package markdown renders it when it is read, so that a stricter list of what is allowed
// holds for old posts too.
package blog

import (
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"writ/internal/fault"
)

const (
	maxSlug    = 100
	maxTitle   = 200 // characters
	maxSummary = 500
	// MaxBody is how long the Markdown of a post may be, in bytes.
	MaxBody  = 100_000
	maxPosts = 10_000
)

// Content is what an operator writes.
type Content struct{ Slug, Title, Summary, Body string }

// Post is a post.
type Post struct {
	ID string
	Content
	Revision             int64
	AuthorID             string
	CreatedAt, UpdatedAt time.Time
	PublishedAt          *time.Time // nil: a draft
}

var slugForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// clean gives a post's content as it is stored.
func (c Content) clean() (Content, error) {
	c.Title, c.Summary = strings.TrimSpace(c.Title), strings.TrimSpace(c.Summary)
	switch {
	case len(c.Slug) > maxSlug || !slugForm.MatchString(c.Slug):
		return Content{}, fault.Field("slug", "must be up to %d small letters, digits and single hyphens between them", maxSlug)
	case !isLine(c.Title) || c.Title == "" || utf8.RuneCountInString(c.Title) > maxTitle:
		return Content{}, fault.Field("title", "must be one line of 1 to %d characters", maxTitle)
	case !isLine(c.Summary) || utf8.RuneCountInString(c.Summary) > maxSummary:
		return Content{}, fault.Field("summary", "must be one line of at most %d characters", maxSummary)
	}
	if err := checkBody(c.Body); err != nil {
		return Content{}, err
	}
	return c, nil
}

func checkBody(text string) error {
	switch {
	case len(text) > MaxBody:
		return fault.Field("body", "must be at most %d bytes long", MaxBody)
	case strings.TrimSpace(text) == "" || !isText(text):
		return fault.Field("body", "must be Markdown in UTF-8 without control characters, and not empty")
	}
	return nil
}

// isLine refuses what could break a line or turn the text around it.
func isLine(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
	})
}

// isText refuses control characters, of which feeds can carry none.
func isText(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t'
	})
}
