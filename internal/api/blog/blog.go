// Package blog serves the installation's blog: what is published to everybody, and drafts to operators.
package blog

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/api/route"
	"writ/internal/blog"
	"writ/internal/page"
	"writ/internal/principal"
)

// Handlers serve the blog.
type Handlers struct {
	Blog      *blog.Service
	PublicURL *url.URL

	rendered renderings
}

// Mount serves the routes.
func (h *Handlers) Mount(r *route.Router) {
	r = r.Tagged("blog")
	route.HandleOutput(r, route.Get("/blog", "The published posts, newest first").
		For(route.Public), h.list)
	route.HandleOutput(r, route.Get("/blog/{slug}", "One published post, as HTML without anything active").
		For(route.Public), h.read)
	h.mountFeed(r)
	h.mountDrafts(r)
}

// PublishedSummaryBody is a published post in a list.
type PublishedSummaryBody struct {
	Slug        string    `json:"slug" example:"plans-before-tools"`
	Title       string    `json:"title" example:"Plans before tools"`
	Summary     string    `json:"summary" example:"Why an agent says first what it is going to do."`
	PublishedAt time.Time `json:"publishedAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
}

func publishedSummary(p blog.Post) PublishedSummaryBody {
	return PublishedSummaryBody{p.Slug, p.Title, p.Summary, *p.PublishedAt, p.UpdatedAt}
}

// PublishedBody is a published post.
type PublishedBody struct {
	PublishedSummaryBody
	HTML string `json:"html" doc:"No scripts, styles, images or forms; links lead to http, https and mailto only." example:"<p>Agents declare.</p>"`
}

// CachedInput is how a reader says what it has.
type CachedInput struct {
	IfNoneMatch string `header:"If-None-Match" doc:"The ETag of what the reader has: 304 if it is still so."`
}

// cached is an answer that readers may keep, and ask about again.
type cached[T any] struct {
	Status       int
	ETag         string `header:"ETag"`
	CacheControl string `header:"Cache-Control"`
	Body         T
}

// answer is the body, or 304 where the reader has it.
func answer[T any](in CachedInput, body T) (*cached[T], error) {
	text, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	out := &cached[T]{Status: http.StatusOK, ETag: tagOf(text), CacheControl: revalidate, Body: body}
	if in.has(out.ETag) {
		out.Status = http.StatusNotModified
	}
	return out, nil
}

// revalidate lets readers keep an answer and has them ask each time: a withdrawn post must not live on in caches.
const revalidate = "no-cache"

func tagOf(text []byte) string {
	sum := sha256.Sum256(text)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"`
}

// has compares weakly, as RFC 9110 (13.1.2) has it for reading.
func (in CachedInput) has(tag string) bool {
	for candidate := range strings.SplitSeq(in.IfNoneMatch, ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == tag {
			return true
		}
	}
	return false
}

type listPublishedInput struct {
	CachedInput
	route.PageInput
}

func (h *Handlers) list(
	ctx context.Context, _ principal.Principal, in *listPublishedInput,
) (*cached[page.Page[PublishedSummaryBody]], error) {
	found, err := h.Blog.Published(ctx, in.Cursor, in.Limit)
	if err != nil {
		return nil, err
	}
	return answer(in.CachedInput, route.MapPage(found, publishedSummary))
}

type readPublishedInput struct {
	CachedInput
	Slug string `path:"slug" maxLength:"200" doc:"Names the post." example:"plans-before-tools"`
}

func (h *Handlers) read(
	ctx context.Context, _ principal.Principal, in *readPublishedInput,
) (*cached[PublishedBody], error) {
	post, err := h.Blog.BySlug(ctx, in.Slug)
	if err != nil {
		return nil, err
	}
	html, err := h.rendered.of(post)
	if err != nil {
		return nil, err
	}
	return answer(in.CachedInput, PublishedBody{publishedSummary(post), html})
}
