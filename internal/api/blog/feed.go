package blog

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"writ/internal/api/route"
	"writ/internal/blog"
	"writ/internal/principal"
)

// postsInFeed is how many of the newest posts a feed has.
const postsInFeed = 10

const atomType = "application/atom+xml"

func (h *Handlers) mountFeed(r *route.Router) {
	feed := route.Get("/blog/feed.xml", "The newest published posts as an Atom feed").For(route.Public)
	r.Serve(feed, h.feed)
	r.Document(feed, huma.Operation{
		Parameters: []*huma.Param{{
			Name: "If-None-Match", In: "header", Description: "The ETag of what the reader has: 304 if it is still so.",
			Schema: &huma.Schema{Type: huma.TypeString},
		}},
		Responses: map[string]*huma.Response{"200": {
			Description: "An Atom feed (RFC 4287).",
			Content:     map[string]*huma.MediaType{atomType: {Schema: &huma.Schema{Type: huma.TypeString}}},
		}},
	})
}

// atomFeed is a feed (RFC 4287).
type atomFeed struct {
	XMLName xml.Name    `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string      `xml:"id"`
	Title   string      `xml:"title"`
	Updated string      `xml:"updated"`
	Author  string      `xml:"author>name"`
	Links   []atomLink  `xml:"link"`
	Entries []atomEntry `xml:"entry"`
}

type atomLink struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
}

type atomEntry struct {
	ID        string   `xml:"id"`
	Title     string   `xml:"title"`
	Updated   string   `xml:"updated"`
	Published string   `xml:"published"`
	Link      atomLink `xml:"link"`
	Summary   string   `xml:"summary,omitempty"`
	Content   atomText `xml:"content"`
}

type atomText struct {
	Type string `xml:"type,attr"`
	Text string `xml:",chardata"`
}

// feed writes XML by hand: every other answer is JSON.
func (h *Handlers) feed(w http.ResponseWriter, request *http.Request, _ principal.Principal) error {
	newest, err := h.Blog.Newest(request.Context(), postsInFeed)
	if err != nil {
		return err
	}
	feed, err := h.feedOf(newest)
	if err != nil {
		return err
	}
	text, err := xml.Marshal(feed)
	if err != nil {
		return fmt.Errorf("write the feed: %w", err)
	}
	text = append([]byte(xml.Header), text...)
	w.Header().Set("ETag", tagOf(text))
	w.Header().Set("Cache-Control", revalidate)
	if (CachedInput{strings.Join(request.Header.Values("If-None-Match"), ",")}).has(tagOf(text)) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	route.WriteFile(w, atomType+"; charset=utf-8", text)
	return nil
}

func (h *Handlers) feedOf(posts []blog.Post) (atomFeed, error) {
	base := strings.TrimRight(h.PublicURL.String(), "/")
	feed := atomFeed{
		ID: base + "/blog", Title: "Blog of " + h.PublicURL.Host, Author: h.PublicURL.Host,
		Links: []atomLink{{"self", base + "/blog/feed.xml"}},
	}
	changed := time.Unix(0, 0).UTC() // of an empty feed
	for _, post := range posts {
		html, err := h.rendered.of(post)
		if err != nil {
			return atomFeed{}, err
		}
		if post.UpdatedAt.After(changed) {
			changed = post.UpdatedAt
		}
		feed.Entries = append(feed.Entries, atomEntry{
			ID:        "urn:uuid:" + post.ID,
			Title:     post.Title,
			Updated:   post.UpdatedAt.Format(time.RFC3339),
			Published: post.PublishedAt.Format(time.RFC3339),
			Link:      atomLink{"alternate", base + "/ui/blog/" + post.Slug}, // the page: people open it
			Summary:   post.Summary,
			Content:   atomText{"html", html},
		})
	}
	feed.Updated = changed.Format(time.RFC3339)
	return feed, nil
}
