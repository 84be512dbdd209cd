package wordindex_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/wordindex"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                          nil,
		" -- ":                      nil,
		"Pay the rent, PAY!":        {"pay", "the", "rent"},
		"read_file /etc/passwd":     {"read", "file", "etc", "passwd"},
		"Müller naïve ΣΟΦΙΑ":        {"müller", "naïve", "σοφια"},
		"e\u0301t\u00e9 \u0301x":    {"e\u0301té", "x"},
		"a\x00b\xffc":               {"a", "b", "c"},
		`"quoted" 'it' OR 1=1 a:b*`: {"quoted", "it", "or", "1", "a", "b"},
		strings.Repeat("é", 50):     {strings.Repeat("é", 40)},
	} {
		if diff := cmp.Diff(want, wordindex.Words(wordindex.MaxWords, text)); diff != "" {
			t.Errorf("words of %q (-want +got):\n%s", text, diff)
		}
	}
	if got := wordindex.Words(2, "a b", "b c"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("two words: %q", got)
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		query, text string
		want        bool
	}{
		{"ren", "pay rent", true},
		{"ren ", "pay rent", false},
		{"rent ", "pay rent", true},
		{"rent pa", "pay rent", true},
		{"pa rent", "pay rent", false},
		{"", "pay rent", false},
		{"pay pay", "pay rent", true},
		{"pay rent pa", "pay rent", true},
	} {
		if got := wordindex.Parse(tt.query).Matches(tt.text); got != tt.want {
			t.Errorf("%q matches %q: %t", tt.query, tt.text, got)
		}
	}
}

// TestExcerpt: the pieces are the text, and the hits are what the query names.
func TestExcerpt(t *testing.T) {
	t.Parallel()
	if got := wordindex.Parse("rent").Excerpt("nothing here"); got != nil {
		t.Errorf("of what does not match: %v", got)
	}
	want := []wordindex.Piece{{"<b>", false}, {"RENT", true}, {"s</b> ", false}, {"rent", true}}
	if diff := cmp.Diff(want, wordindex.Parse("rent").Excerpt("<b>RENTs</b> rent")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab é😀-\xff"))).Draw(t, "text")
		q := wordindex.Parse(rapid.StringMatching(`[abé ]{0,4}`).Draw(t, "query"))
		whole := ""
		for _, piece := range q.Excerpt(text) {
			whole += piece.Text
			if piece.Hit && !q.Matches(piece.Text) && !slices.Contains(q.Words, strings.ToLower(piece.Text)) {
				t.Fatalf("%q is a hit of %v", piece.Text, q)
			}
		}
		if !strings.Contains(strings.ToValidUTF8(text, "\uFFFD"), whole) {
			t.Fatalf("%q is no part of %q", whole, text)
		}
	})
}

// thing is what the naive scan knows of a thing.
type thing struct {
	orgID, plain, payload, tag string
	made                       time.Time
	indexed                    bool
}

// TestFindsAsANaiveScan: after any changes and erasures, a query finds exactly what reading everything would, newest
// first; what was erased is forgotten at once, before it is indexed again.
func TestFindsAsANaiveScan(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		round := 0
		rapid.Check(t, func(r *rapid.T) {
			round++
			m := &model{
				db: db, kind: fmt.Sprintf("kind%d", round), begin: 1_700_000_000_000_000 + 10*int64(round),
				things: map[string]*thing{},
			}
			r.Repeat(map[string]func(*rapid.T){
				"make":  m.make,
				"erase": m.erase,
				"index": m.index,
				"find":  m.find,
				"":      func(*rapid.T) {},
			})
		})
	})
}

type model struct {
	db     *database.DB
	kind   string
	begin  int64 // of its own: a microsecond has room for 1,024 things
	things map[string]*thing
}

var (
	someText = rapid.StringMatching(`([abπ]{1,3}[ _]){0,4}[abπ]{0,3}`)
	someOrg  = rapid.SampledFrom([]string{"ours", "theirs"})
	someTag  = rapid.SampledFrom([]string{"mine", "yours"})
)

func (m *model) make(t *rapid.T) {
	id := fmt.Sprintf("%s-%d", m.kind, len(m.things))
	of := &thing{
		orgID: someOrg.Draw(t, "org"), plain: someText.Draw(t, "plain"),
		payload: someText.Draw(t, "payload"), tag: someTag.Draw(t, "tag"),
		// Some have the same time, and some come late.
		made: database.Time(m.begin + rapid.Int64Range(0, 5).Draw(t, "made")),
	}
	m.write(t, func(ctx context.Context, tx *database.Tx) error {
		return wordindex.Enqueue(ctx, tx, of.orgID, m.kind, id, of.made)
	})
	m.things[id] = of
}

func (m *model) erase(t *rapid.T) {
	if len(m.things) == 0 {
		return
	}
	id := rapid.SampledFrom(slices.Sorted(maps.Keys(m.things))).Draw(t, "id")
	of := m.things[id]
	m.write(t, func(ctx context.Context, tx *database.Tx) error {
		return wordindex.Forget(ctx, tx, of.orgID, m.kind, id, of.made)
	})
	of.payload, of.indexed = "", false
}

func (m *model) index(t *rapid.T) {
	err := wordindex.Work(t.Context(), m.db, m.kind, func(
		_ context.Context, _ database.Reader, orgID, id string,
	) (*wordindex.Text, error) {
		of := m.things[id]
		if of.orgID != orgID {
			return nil, fmt.Errorf("%s is indexed in organization %s", id, orgID)
		}
		of.indexed = true
		return &wordindex.Text{
			Words:    wordindex.Words(wordindex.MaxWords, of.plain),
			Payloads: wordindex.Words(wordindex.MaxWords, of.payload),
			Tags:     []string{of.tag},
		}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (m *model) find(t *rapid.T) {
	q := wordindex.Parse(rapid.StringMatching(`([abπ]{1,2} ){0,2}[abπ]{0,2} ?`).Draw(t, "query"))
	q.Payloads = rapid.Bool().Draw(t, "reads payloads")
	if rapid.Bool().Draw(t, "sees only own") {
		q.Tag = someTag.Draw(t, "tag")
	}
	orgID := someOrg.Draw(t, "org")
	want := m.scan(orgID, q)
	got := []string{}
	before := int64(math.MaxInt64)
	for limit := rapid.IntRange(1, 3).Draw(t, "limit"); ; {
		found, err := wordindex.FindThings(t.Context(), m.db, orgID, m.kind, q, before, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if f.Number >= before {
				t.Fatalf("%v is not older than %d", f, before)
			}
			got, before = append(got, f.ID), f.Number
		}
		if len(found) < limit {
			break
		}
	}
	if !slices.IsSortedFunc(got, func(a, b string) int { return m.things[b].made.Compare(m.things[a].made) }) {
		t.Fatalf("%v is not in the order of time", got)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%+v in %s (-scan +index):\n%s", q, orgID, diff)
	}
}

// scan reads everything.
func (m *model) scan(orgID string, q wordindex.Query) []string {
	found := []string{}
	for id, of := range m.things {
		text := of.plain
		if q.Payloads {
			text += " " + of.payload
		}
		if of.indexed && of.orgID == orgID && (q.Tag == "" || q.Tag == of.tag) && q.Matches(text) {
			found = append(found, id)
		}
	}
	slices.Sort(found)
	return found
}

func (m *model) write(t *rapid.T, do func(ctx context.Context, tx *database.Tx) error) {
	if err := m.db.Write(t.Context(), database.Change{Do: do}); err != nil {
		t.Fatal(err)
	}
}

// TestManySegments: results are complete and in order where a query goes through several segments, also with what came
// late, and a frequent word does not hide a rare one.
func TestManySegments(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		index := wordindex.Index{Table: "search_word", Kind: "many"}
		const total, slice = 50_000, 2_000
		var docs []wordindex.Doc
		for i := range total {
			d := wordindex.Doc{Number: int64(10 + 2*i), OrgID: "ours", Words: []string{"all"}}
			if i%10_000 == 17 {
				d.Words = append(d.Words, "rare")
			}
			if i < 20_000 {
				d.Words = append(d.Words, "old")
			}
			docs = append(docs, d)
		}
		docs = append(docs, wordindex.Doc{Number: 11, OrgID: "ours", Words: []string{"late", "rare"}},
			wordindex.Doc{Number: 13, OrgID: "theirs", Words: []string{"rare"}})
		for some := range slices.Chunk(docs, slice) {
			err := db.Write(t.Context(), database.Change{Logs: []string{wordindex.Lock}, Do: func(
				ctx context.Context, tx *database.Tx,
			) error {
				return index.Add(ctx, tx, some)
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
		for text, want := range map[string][]int64{
			"ra":       {80_044, 60_044, 40_044, 20_044, 44, 11},
			"all rare": {80_044, 60_044, 40_044, 20_044, 44},
			"rare al":  {80_044, 60_044, 40_044, 20_044, 44},
			"late":     {11},
			"lat rare": nil,
			// Words of which one is in nearly all, or was long ago, and the other in few or none.
			"all ra":     {80_044, 60_044, 40_044, 20_044, 44},
			"old ra":     {20_044, 44},
			"old all ra": {20_044, 44},
			"rare ol":    {20_044, 44},
			"all late":   nil,
			"old x":      nil,
			"x al":       nil,
		} {
			got, err := index.Find(t.Context(), db, db.Engine(), "ours", wordindex.Parse(text), math.MaxInt64, 20)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q: %v, want %v", text, got, want)
			}
		}
		got, err := index.Find(t.Context(), db, db.Engine(), "ours", wordindex.Parse("al"), 60_045, 3)
		if want := []int64{60_044, 60_042, 60_040}; err != nil || !slices.Equal(got, want) {
			t.Errorf("below a number: %v %v, want %v", got, err, want)
		}
	})
}
