package wordindex

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"writ/internal/database"
)

// Index is one index of a store. Its table has a row for each thing, by number.
type Index struct {
	// Table holds the words; search_segment of the same store holds the segments.
	Table string
	// Kind is what the segments are of.
	Kind string
	// Day is the column that a partitioned table on PostgreSQL is cut by, and DayOf its value; empty: it is not.
	Day   string
	DayOf func(number int64) int64
}

// Doc is a thing with its words.
type Doc struct {
	Number   int64 // rises with the time of the thing
	OrgID    string
	Words    []string
	Payloads []string // words of payloads
	Tags     []string
}

// Classes of words.
const (
	plain   = "n"
	payload = "p"
	tag     = "t"
)

// segmentDocs is how many things a segment has, about. PostgreSQL reads all matches of a segment, FTS5 only the newest.
func segmentDocs(engine database.Engine) int64 {
	if engine == database.PostgreSQL {
		return 8192
	}
	return 16384
}

// segment is a range of the numbers of an organization: from first up to the next segment.
type segment struct {
	number      int64
	first, last int64 // last: the highest number in it
	docs        int64
}

func scanSegment(row database.Scanner) (s segment, err error) {
	err = row.Scan(&s.number, &s.first, &s.last, &s.docs)
	return s, err
}

// segments reads those that begin before a number, newest first.
func (x *Index) segments(ctx context.Context, r database.Reader, orgID string, before int64) ([]segment, error) {
	return database.Collect(ctx, r, scanSegment, `
		SELECT number, first_doc, last_doc, docs FROM search_segment
		WHERE kind = $1 AND org_id = $2 AND first_doc < $3
		ORDER BY first_doc DESC`, x.Kind, orgID, before)
}

// Lock is the name that a change declares in Logs when it adds to an index of its store, so that replicas take turns:
// segments are numbered without regard to what they are of.
const Lock = "search"

// Add stores things that are not in the index. The change must hold Lock.
func (x *Index) Add(ctx context.Context, tx *database.Tx, docs []Doc) error {
	byOrg := map[string][]Doc{}
	var orgs []string
	for _, d := range docs {
		if byOrg[d.OrgID] == nil {
			orgs = append(orgs, d.OrgID)
		}
		byOrg[d.OrgID] = append(byOrg[d.OrgID], d)
	}
	slices.Sort(orgs)
	var rows [][]any
	for _, orgID := range orgs {
		placed, err := x.place(ctx, tx, orgID, byOrg[orgID])
		if err != nil {
			return fmt.Errorf("find the segments of organization %s: %w", orgID, err)
		}
		rows = append(rows, placed...)
	}
	return database.Wrap(tx.Insert(ctx, x.insertHead(tx.Engine()), rows, ""), "store words")
}

func (x *Index) insertHead(engine database.Engine) string {
	switch {
	case engine == database.SQLite:
		return `INSERT INTO ` + x.Table + ` (rowid, words)`
	case x.Day == "":
		return `INSERT INTO ` + x.Table + ` (doc, words)`
	}
	return `INSERT INTO ` + x.Table + ` (doc, words, ` + x.Day + `)`
}

// place gives each thing its segment, and counts it there. It returns the rows of their words.
func (x *Index) place(ctx context.Context, tx *database.Tx, orgID string, docs []Doc) ([][]any, error) {
	slices.SortFunc(docs, func(a, b Doc) int { return cmp.Compare(a.Number, b.Number) })
	segments, err := x.segments(ctx, tx, orgID, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	slices.Reverse(segments)
	changed := map[int]bool{}
	var rows [][]any
	for _, d := range docs {
		last := len(segments) - 1
		if last < 0 || segments[last].docs >= segmentDocs(tx.Engine()) && d.Number > segments[last].last {
			opened, err := x.open(ctx, tx, orgID, d.Number, last < 0)
			if err != nil {
				return nil, err
			}
			segments = append(segments, opened)
		}
		at := len(segments) - 1
		for at > 0 && segments[at].first > d.Number {
			at--
		}
		changed[at] = true
		s := &segments[at]
		s.docs, s.last = s.docs+1, max(s.last, d.Number)
		rows = append(rows, x.row(tx.Engine(), s.number, d))
	}
	for at := range changed {
		if _, err := tx.Exec(ctx, `UPDATE search_segment SET docs = $2, last_doc = $3 WHERE number = $1`,
			segments[at].number, segments[at].docs, segments[at].last); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// open begins a segment at a number above all that are stored; the first one of an organization begins before all.
func (x *Index) open(ctx context.Context, tx *database.Tx, orgID string, first int64, only bool) (segment, error) {
	s := segment{first: first}
	if only {
		s.first = 0
	}
	err := tx.QueryRow(ctx, `
		INSERT INTO search_segment (number, kind, org_id, first_doc, last_doc, docs)
		SELECT COALESCE(MAX(number), 0) + 1, $1, $2, $3, 0, 0 FROM search_segment
		RETURNING number`, x.Kind, orgID, s.first).Scan(&s.number)
	return s, err
}

// row is the row of a thing's words in the table.
func (x *Index) row(engine database.Engine, segment int64, d Doc) []any {
	var text strings.Builder
	begin := strconv.FormatInt(segment, 10)
	for _, of := range []struct {
		class string
		words []string
	}{{plain, d.Words}, {payload, d.Payloads}, {tag, d.Tags}} {
		for _, word := range of.words {
			text.WriteString(begin + of.class + word + " ")
		}
	}
	if engine == database.PostgreSQL && x.Day != "" {
		return []any{d.Number, text.String(), x.DayOf(d.Number)}
	}
	return []any{d.Number, text.String()}
}

// Remove forgets things.
func (x *Index) Remove(ctx context.Context, tx *database.Tx, numbers ...int64) error {
	for _, number := range numbers {
		statement, args := `DELETE FROM `+x.Table+` WHERE rowid = $1`, []any{number}
		if tx.Engine() == database.PostgreSQL {
			statement = `DELETE FROM ` + x.Table + ` WHERE doc = $1`
			if x.Day != "" {
				statement, args = statement+` AND `+x.Day+` = $2`, append(args, x.DayOf(number))
			}
		}
		if _, err := tx.Prepared().Exec(ctx, statement, args...); err != nil {
			return fmt.Errorf("forget words: %w", err)
		}
	}
	return nil
}
