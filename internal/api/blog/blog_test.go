package blog_test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"writ/internal/principal"
	"writ/internal/testserver"
)

type m = map[string]any

type post struct {
	ID, Slug, Title, Summary, Body, HTML string
	Revision                             int64
	PublishedAt                          *time.Time
}

func operator(s *testserver.Server) *testserver.Person {
	s.T.Helper()
	p := s.Person("operator")
	if err := s.Operators.Add(s.T.Context(), principal.Operator(), p.ID); err != nil {
		s.T.Fatal(err)
	}
	return p
}

// write calls a route of operators.
func write(s *testserver.Server, p *testserver.Person, method, path string, body any) (post, error) {
	var got post
	into := any(&got)
	if method == http.MethodDelete {
		into = nil
	}
	err := p.Call(s.T.Context(), method, "/admin/blog/posts"+path, nil, body, into)
	return got, err
}

func published(s *testserver.Server, p *testserver.Person, slug, body string) post {
	s.T.Helper()
	made, err := write(s, p, http.MethodPost, "", m{"slug": slug, "title": "On " + slug, "summary": "S", "body": body})
	if err == nil {
		made, err = write(s, p, http.MethodPost, "/"+made.ID+"/publish", m{"revision": 1})
	}
	if err != nil {
		s.T.Fatalf("publish %s: %v", slug, err)
	}
	return made
}

func slugs(s *testserver.Server, query url.Values) (found []string, next string) {
	s.T.Helper()
	var page struct {
		Items      []post
		NextCursor string
	}
	if err := s.Public.Call(s.T.Context(), http.MethodGet, "/blog", query, nil, &page); err != nil {
		s.T.Fatalf("list: %v", err)
	}
	for _, p := range page.Items {
		found = append(found, p.Slug)
	}
	return found, page.NextCursor
}

// TestLifeOfAPost: nobody reads a draft, and what is withdrawn is gone.
func TestLifeOfAPost(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		op := operator(s)
		content := m{
			"slug": "first", "title": "First", "summary": "About it", "body": "Agents *declare*. <script>x</script>",
		}
		draft, err := write(s, op, http.MethodPost, "", content)
		if err != nil || draft.PublishedAt != nil || draft.Revision != 1 ||
			draft.HTML != "<p>Agents <em>declare</em>. x</p>\n" {
			t.Fatalf("draft: %+v, %v", draft, err)
		}
		reads := func(what string, status int) testserver.Answer {
			t.Helper()
			got := s.Request(t, "GET", "/blog/first", "")
			if got.Status != status {
				t.Errorf("%s: status %d, want %d: %s", what, got.Status, status, got.Body)
			}
			return got
		}
		reads("a draft", http.StatusNotFound)
		if found, _ := slugs(s, nil); len(found) != 0 {
			t.Errorf("listed: %v", found)
		}
		_, err = write(s, op, http.MethodPost, "/"+draft.ID+"/publish", m{"revision": 2})
		testserver.WantStatus(t, "publish a revision that is not there", err, http.StatusConflict)
		if _, err = write(s, op, http.MethodPost, "/"+draft.ID+"/publish", m{"revision": 1}); err != nil {
			t.Fatal(err)
		}
		shown := reads("published", http.StatusOK)
		if !strings.Contains(string(shown.Body), "declare") || strings.Contains(string(shown.Body), "script") {
			t.Errorf("published: %s", shown.Body)
		}
		content["slug"], content["revision"] = "second", 2
		_, err = write(s, op, http.MethodPut, "/"+draft.ID, content)
		testserver.WantStatus(t, "move a published post", err, http.StatusConflict)
		content["slug"], content["title"] = "first", "Changed"
		changed, err := write(s, op, http.MethodPut, "/"+draft.ID, content)
		if err != nil || changed.Title != "Changed" || changed.Revision != 3 {
			t.Errorf("changed: %+v, %v", changed, err)
		}
		_, err = write(s, op, http.MethodPut, "/"+draft.ID, content)
		testserver.WantStatus(t, "change what another has changed", err, http.StatusConflict)
		if _, err = write(s, op, http.MethodPost, "/"+draft.ID+"/withdraw", m{"revision": 3}); err != nil {
			t.Fatal(err)
		}
		reads("withdrawn", http.StatusNotFound)
		if _, err := write(s, op, http.MethodDelete, "/"+draft.ID, nil); err != nil {
			t.Fatal(err)
		}
		_, err = write(s, op, http.MethodGet, "/"+draft.ID, nil)
		testserver.WantStatus(t, "a deleted post", err, http.StatusNotFound)
	})
}

func TestRefusedPosts(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		op := operator(s)
		published(s, op, "taken", "x")
		for what, c := range map[string]struct {
			change m
			status int
			field  string
		}{
			"a taken slug":         {m{"slug": "taken"}, 409, ""},
			"a slug with a dot":    {m{"slug": "feed.xml"}, 400, "slug"},
			"a slug with letters":  {m{"slug": "Big"}, 400, "slug"},
			"two hyphens":          {m{"slug": "a--b"}, 400, "slug"},
			"a path":               {m{"slug": "a/b"}, 400, "slug"},
			"no title":             {m{"title": " "}, 400, "title"},
			"lines in the title":   {m{"title": "a\nb"}, 400, "title"},
			"a turned title":       {m{"title": "a\u202eb"}, 400, "title"},
			"a long title":         {m{"title": strings.Repeat("é", 201)}, 400, "title"},
			"a long summary":       {m{"summary": strings.Repeat("é", 501)}, 400, "summary"},
			"no body":              {m{"body": " \n"}, 400, "body"},
			"a body in bytes":      {m{"body": strings.Repeat("é", 50_001)}, 400, "body"},
			"a body of characters": {m{"body": strings.Repeat("x", 100_001)}, 400, "body"},
			"a zero byte":          {m{"body": "a\x00b"}, 400, "body"},
			"a control character":  {m{"body": "a\x1bb"}, 400, "body"},
			"an unknown field":     {m{"html": "<script>"}, 400, "html"},
		} {
			body := m{"slug": "new", "title": "T", "body": "B"}
			for name, value := range c.change {
				body[name] = value
			}
			got := s.Request(t, "POST", "/admin/blog/posts", testserver.JSON(t, body),
				testserver.Credentials(op.Client)...)
			if fields := got.ErrorFields(t, c.status); c.field != "" && !slices.Contains(fields, c.field) {
				t.Errorf("%s: fields %v, want %s", what, fields, c.field)
			}
		}
		if _, err := write(s, op, http.MethodPost, "", m{
			"slug": "long", "title": "T", "body": strings.Repeat("\"", 99_999) + "x",
		}); err != nil {
			t.Errorf("the longest body in its longest form: %v", err)
		}
	})
}

// TestPreview: unsaved Markdown looks as it will when it is published, what is active left out, and nothing is stored.
func TestPreview(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		op := operator(s)
		preview := func(p *testserver.Person, body any) (html string, err error) {
			var got struct{ HTML string }
			err = p.Call(t.Context(), http.MethodPost, "/admin/blog/preview", nil, body, &got)
			return got.HTML, err
		}
		before := s.Dump()
		for i, text := range []string{
			"Agents *declare*.", "<script>alert(1)</script>", "[x](javascript:alert(1)) <img src=x onerror=alert(1)>",
			"| a | b |\n|---|---|\n| 1 | 2 |", `"quoted" & <b>bold</b>`,
		} {
			got, err := preview(op, m{"body": text})
			if diff := cmp.Diff(before, s.Dump()); diff != "" {
				t.Fatalf("a preview changed something (-before +after):\n%s", diff)
			}
			post := published(s, op, fmt.Sprintf("post-%d", i), text)
			active := slices.ContainsFunc([]string{"<script", "onerror", "href"}, func(part string) bool {
				return strings.Contains(got, part)
			})
			if err != nil || got != post.HTML || active {
				t.Errorf("%q: %q, %v; published: %q", text, got, err, post.HTML)
			}
			before = s.Dump()
		}
		for what, body := range map[string]string{
			"nothing": " \n", "a control character": "a\x1bb", "too many bytes": strings.Repeat("é", 50_001),
		} {
			got := s.Request(t, "POST", "/admin/blog/preview", testserver.JSON(t, m{"body": body}),
				testserver.Credentials(op.Client)...)
			if fields := got.ErrorFields(t, 400); !slices.Contains(fields, "body") {
				t.Errorf("%s: fields %v", what, fields)
			}
		}
		_, err := preview(s.Person("reader"), m{"body": "x"})
		testserver.WantStatus(t, "who is no operator", err, http.StatusForbidden)
	})
}

// TestReadersKeepAnswers: an ETag is that of exactly what was read.
func TestReadersKeepAnswers(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		op := operator(s)
		first := published(s, op, "first", "One.")
		for _, path := range []string{"/blog", "/blog/first", "/blog/feed.xml"} {
			got := s.Request(t, "GET", path, "")
			tag := got.Header.Get("ETag")
			if got.Status != http.StatusOK || len(tag) < 10 || got.Header.Get("Cache-Control") != "no-cache" {
				t.Errorf("%s: status %d, ETag %q, %v", path, got.Status, tag, got.Header)
			}
			for _, known := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
				again := s.Request(t, "GET", path, "", "If-None-Match", known)
				if again.Status != http.StatusNotModified || len(again.Body) != 0 || again.Header.Get("ETag") != tag {
					t.Errorf("%s with %s: status %d, %q", path, known, again.Status, again.Body)
				}
			}
			for _, other := range []string{`"x"`, strings.Trim(tag, `"`), ""} {
				if again := s.Request(t, "GET", path, "", "If-None-Match", other); again.Status != http.StatusOK {
					t.Errorf("%s with %q: status %d", path, other, again.Status)
				}
			}
			changed, err := write(s, op, http.MethodGet, "/"+first.ID, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = write(s, op, http.MethodPut, "/"+first.ID, m{
				"slug": "first", "title": "For " + path, "body": "Other.", "revision": changed.Revision,
			}); err != nil {
				t.Fatal(err)
			}
			again := s.Request(t, "GET", path, "", "If-None-Match", tag)
			if again.Status != http.StatusOK || again.Header.Get("ETag") == tag {
				t.Errorf("%s after a change: status %d, ETag %q", path, again.Status, again.Header.Get("ETag"))
			}
		}
	})
}

func TestPagesAndFeed(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		op := operator(s)
		hidden := m{"slug": "draft", "title": "Draft", "body": "Hidden."}
		if _, err := write(s, op, http.MethodPost, "", hidden); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, slug := range []string{"a", "b", "c"} {
			published(s, op, slug, "About [it](https://example.org) & <b>more</b>. ]]>")
			want = append([]string{slug}, want...)
			s.Advance(time.Second)
		}
		got, next := slugs(s, url.Values{"limit": {"2"}})
		rest, last := slugs(s, url.Values{"limit": {"2"}, "cursor": {next}})
		if got = append(got, rest...); !slices.Equal(got, want) || last != "" {
			t.Errorf("pages: %v, then %q; want %v", got, last, want)
		}
		err := s.Public.Call(t.Context(), http.MethodGet, "/blog", url.Values{"cursor": {"x"}}, nil, nil)
		testserver.WantStatus(t, "no cursor", err, http.StatusBadRequest)
		wantFeed(t, s, want)
		var all struct{ Items []post }
		err = op.Call(t.Context(), http.MethodGet, "/admin/blog/posts", nil, nil, &all)
		if err != nil || len(all.Items) != 4 {
			t.Errorf("all posts: %+v, %v", all, err)
		}
		testserver.WantStatus(t, "all posts for everybody", s.Public.Call(t.Context(), http.MethodGet,
			"/admin/blog/posts", nil, nil, nil), http.StatusUnauthorized)
	})
}

func wantFeed(t *testing.T, s *testserver.Server, want []string) {
	t.Helper()
	answer := s.Request(t, "GET", "/blog/feed.xml", "")
	if kind := answer.Header.Get("Content-Type"); kind != "application/atom+xml; charset=utf-8" {
		t.Errorf("Content-Type %q", kind)
	}
	var feed struct {
		XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
		ID      string   `xml:"id"`
		Updated string   `xml:"updated"`
		Entries []struct {
			ID   string `xml:"id"`
			Link struct {
				Href string `xml:"href,attr"`
			} `xml:"link"`
			Content struct {
				Type string `xml:"type,attr"`
				Text string `xml:",chardata"`
			} `xml:"content"`
		} `xml:"entry"`
	}
	if err := xml.Unmarshal(answer.Body, &feed); err != nil {
		t.Fatalf("%v: %s", err, answer.Body)
	}
	var got []string
	for _, e := range feed.Entries {
		_, slug, _ := strings.Cut(e.Link.Href, "/ui/blog/")
		got = append(got, slug)
		const html = `<p>About <a href="https://example.org" rel="nofollow noreferrer">it</a> &amp; more. ]]&gt;</p>` + "\n"
		if e.Content.Type != "html" || e.Content.Text != html || !strings.HasPrefix(e.ID, "urn:uuid:") {
			t.Errorf("entry: %+v", e)
		}
	}
	if !slices.Equal(got, want) || strings.Contains(string(answer.Body), "Hidden") {
		t.Errorf("feed of %v, want %v", got, want)
	}
}
