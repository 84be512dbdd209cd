package search_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"writ/internal/testserver"
	"writ/internal/throttle"
	"writ/internal/wordindex"
)

// TestSearchAsANaiveScan: whatever is written and erased, and whichever role somebody has at the moment, they find
// what reading everything that they may read would find. The database stays the same for all rounds, and each has
// words of its own.
func TestSearchAsANaiveScan(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		ada := s.Person("ada")
		org := s.Organization(ada, "Payments")
		m := &model{
			s: s, org: org, owner: ada, other: s.Join(ada, org, "member"),
			key: s.AgentKey(ada, org).APIKey, reads: true,
		}
		rapid.Check(t, func(r *rapid.T) {
			m.round++
			m.written = nil
			for range rapid.IntRange(2, 8).Draw(r, "steps") {
				rapid.SampledFrom([]func(*rapid.T){m.trace, m.plan, m.erase, m.promote, m.find}).Draw(r, "step")(r)
			}
			m.find(r)
		})
	})
}

type model struct {
	s            *testserver.Server
	org, key     string
	owner, other *testserver.Person
	reads        bool // other may read payloads
	round, asked int
	written      []*written
}

// written is a trace, or a plan at an index of the log.
type written struct {
	kind, id       string
	plain, payload string
	index          int64
}

var words = rapid.SampledFrom([]string{"ebb", "tide", "ti", "moon", "ebbing"})

// text is some words of this round.
func (m *model) text(t *rapid.T, name string) (text string) {
	for _, word := range rapid.SliceOfN(words, 1, 2).Draw(t, name) {
		text += m.own(word) + " "
	}
	return text
}

// own is a word, or the beginning of one, that no other round has.
func (m *model) own(word string) string { return fmt.Sprintf("r%06d%s", m.round, word) }

func (m *model) trace(t *rapid.T) {
	w := &written{kind: "trace", plain: m.text(t, "name"), payload: m.text(t, "input")}
	w.id, _ = report(m.s.T, m.s, m.key, w.plain, w.payload)
	m.written = append(m.written, w)
}

func (m *model) plan(t *rapid.T) {
	w := &written{kind: "plan", payload: m.text(t, "goal")}
	w.id = m.s.Declare(m.key, w.payload).PlanID
	var view struct{ AuditIndex int64 }
	if err := m.owner.Call(t.Context(), http.MethodGet, "/iap/plan/"+w.id, nil, nil, &view); err != nil {
		t.Fatal(err)
	}
	w.index = view.AuditIndex
	m.written = append(m.written, w)
}

// erase erases the goal of a plan in the log.
func (m *model) erase(t *rapid.T) {
	for _, w := range m.written {
		if w.kind != "plan" || w.payload == "" || !rapid.Bool().Draw(t, "erase") {
			continue
		}
		if rapid.Bool().Draw(t, "indexed before") {
			index(m.s.T, m.s)
		}
		path := fmt.Sprintf("/audit-log/entries/%d/erase?organizationId=%s", w.index, m.org)
		got := m.s.Send(http.MethodPost, path, testserver.WithBearer(m.owner.Tokens.AccessToken), `{"reason":"r"}`)
		if got.Status != http.StatusNoContent {
			t.Fatalf("erase: %d %s", got.Status, got.Body)
		}
		w.payload = ""
		return
	}
}

func (m *model) promote(t *rapid.T) {
	role := rapid.SampledFrom([]string{"viewer", "member", "admin"}).Draw(t, "role")
	if _, err := m.owner.ChangeRole(t.Context(), m.org, m.other.ID, role); err != nil {
		t.Fatal(err)
	}
	m.reads = role != "viewer"
}

func (m *model) find(t *rapid.T) {
	index(m.s.T, m.s)
	who, reads := m.owner, true
	if rapid.Bool().Draw(t, "other") {
		who, reads = m.other, m.reads
	}
	q := wordindex.Parse(m.own(words.Draw(t, "query")) + rapid.SampledFrom([]string{"", " "}).Draw(t, "end"))
	text := q.Words[0]
	if !q.Open {
		text += " "
	}
	var want, got []string
	for _, w := range m.written {
		seen := w.plain
		if reads {
			seen += w.payload
		}
		if q.Matches(seen) {
			want = append(want, w.kind+" "+w.id)
		}
	}
	for cursor := ""; ; {
		if m.asked++; m.asked%(throttle.Search.PerMinute/2) == 0 {
			m.s.NextMinute() // and both are still signed in
			m.owner, m.other = m.s.SignIn(m.owner.Email), m.s.SignIn(m.other.Email)
			who = map[bool]*testserver.Person{false: m.owner, true: m.other}[who.ID == m.other.ID]
		}
		answer := ask(m.s.T, who, m.org, text, "kinds", "trace,plan", "limit", "3", "cursor", cursor)
		for _, item := range answer.Items {
			got = append(got, item.Kind+" "+item.ID)
		}
		if cursor = answer.NextCursor; !answer.HasMore {
			break
		}
	}
	slices.Reverse(want)
	if !slices.Equal(got, want) {
		t.Fatalf("%q (reads payloads: %t) finds\n%q, want\n%q", text, reads, got, want)
	}
}
