package wordindex

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"writ/internal/database"
)

// maxGroup is how many segments one statement looks into.
const maxGroup = 32

// Find returns the numbers of an organization's things that match, below a number, newest first. Nothing matches a
// query without words.
func (x *Index) Find(
	ctx context.Context, r database.Reader, engine database.Engine, orgID string, q Query, before int64, limit int,
) ([]int64, error) {
	if len(q.Words) == 0 || limit <= 0 {
		return nil, nil
	}
	segments, err := x.segments(ctx, r, orgID, before)
	if err != nil {
		return nil, fmt.Errorf("read the segments of the index: %w", err)
	}
	var found []int64
	look := search{Index: x, reader: r, engine: engine, before: before}
	for size := 1; len(segments) > 0 && len(found) < limit; size = min(2*size, maxGroup) {
		group := segments[:min(size, len(segments))]
		segments = segments[len(group):]
		some, err := look.find(ctx, group, q, limit-len(found))
		if err != nil {
			return nil, fmt.Errorf("look for words: %w", err)
		}
		found = append(found, some...)
		look.before = min(look.before, group[len(group)-1].first)
	}
	return found, nil
}

func scanNumber(row database.Scanner) (n int64, err error) {
	err = row.Scan(&n)
	return n, err
}

// search is one look into an index.
type search struct {
	*Index
	reader database.Reader
	engine database.Engine
	before int64
	// common: the complete words of the query are in many things, so that looking for them first does not pay.
	common bool
}

// maxCandidates is up to how many things that have the complete words are looked at one segment at a time.
const maxCandidates = 512

// find finds matches in segments that follow each other. What begins with the last word must be gathered before it can
// be compared, which is dear for a frequent one, on both engines. So the complete words are looked for first.
func (s *search) find(ctx context.Context, group []segment, q Query, limit int) ([]int64, error) {
	if !q.Open || len(q.Words) == 1 {
		return s.findIn(ctx, group, q, limit)
	}
	if s.engine == database.PostgreSQL {
		return s.narrow(ctx, group, q, limit)
	}
	candidates, err := s.findIn(ctx, group, q.complete(), maxCandidates)
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	if len(candidates) < maxCandidates {
		group = having(group, candidates)
	}
	return s.findIn(ctx, group, q, limit)
}

// complete is the query without its last word.
func (q Query) complete() Query {
	q.Open, q.Words = false, q.Words[:len(q.Words)-1]
	return q
}

// having are the segments in which some numbers are, both newest first.
func having(group []segment, numbers []int64) (some []segment) {
	for _, g := range group {
		any := false
		for len(numbers) > 0 && numbers[0] >= g.first {
			numbers, any = numbers[1:], true
		}
		if any {
			some = append(some, g)
		}
	}
	return some
}

// findIn finds matches in segments.
func (s *search) findIn(ctx context.Context, group []segment, q Query, limit int) ([]int64, error) {
	if s.engine == database.PostgreSQL {
		return s.gather(ctx, group, q, limit)
	}
	return database.Collect(ctx, s.reader, scanNumber, fmt.Sprintf(`
		SELECT rowid FROM %[1]s WHERE %[1]s MATCH $1 AND rowid >= $2 AND rowid < $3
		ORDER BY rowid DESC LIMIT $4`, s.Table), q.match(group, sqliteSyntax), group[len(group)-1].first, s.before, limit)
}

// syntax is how a database writes a query.
type syntax struct{ and, or, prefix, whole string }

var (
	sqliteSyntax   = syntax{" AND ", " OR ", `"%s"*`, `"%s"`}
	postgresSyntax = syntax{" & ", " | ", `'%s':*`, `'%s'`}
)

// match is the query over segments. Words have letters and digits alone, so that nothing needs to be escaped.
func (q Query) match(group []segment, s syntax) string {
	inSegments := make([]string, len(group))
	for i, g := range group {
		begin := strconv.FormatInt(g.number, 10)
		var all []string
		for i, word := range q.Words {
			form := s.whole
			if q.Open && i == len(q.Words)-1 {
				form = s.prefix
			}
			one := fmt.Sprintf(form, begin+plain+word)
			if q.Payloads {
				one = "(" + one + s.or + fmt.Sprintf(form, begin+payload+word) + ")"
			}
			all = append(all, one)
		}
		if q.Tag != "" {
			all = append(all, fmt.Sprintf(s.whole, begin+tag+q.Tag))
		}
		inSegments[i] = "(" + strings.Join(all, s.and) + ")"
	}
	return strings.Join(inSegments, s.or)
}
