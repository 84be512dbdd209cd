package wordindex

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"writ/internal/database"
)

// PostgreSQL gathers all that a segment has of a word before it compares, so that the order in which it is asked
// decides what a search takes. One statement asks for many segments, one after the other, by a plan that is made once:
// planning a part for each segment took longer than reading them.

// parts are what is asked of PostgreSQL's index: a query each, and the days in which its segments are.
type parts struct {
	queries, complete   []string // complete: without the last word
	firstDays, lastDays []int64
}

// add adds a query over segments that follow each other.
func (p *parts) add(x *Index, group []segment, q Query) {
	p.queries = append(p.queries, q.match(group, postgresSyntax))
	if len(q.Words) > 1 {
		p.complete = append(p.complete, q.complete().match(group, postgresSyntax))
	}
	var first, last int64
	if x.Day != "" {
		first, last = x.DayOf(group[len(group)-1].first), x.DayOf(group[0].last)
	}
	p.firstDays, p.lastDays = append(p.firstDays, first), append(p.lastDays, last)
}

// inDays limits the rows of a table to the days of a part.
func (x *Index) inDays() string {
	if x.Day == "" {
		return ""
	}
	return fmt.Sprintf(` AND %[1]s >= part.first_day AND %[1]s <= part.last_day`, x.Day)
}

// gather finds matches in segments.
func (s *search) gather(ctx context.Context, group []segment, q Query, limit int) ([]int64, error) {
	var all parts
	for some := range slices.Chunk(group, together(q)) {
		all.add(s.Index, some, q)
	}
	// Materialized: else the newest rows might be read one by one until enough of them match.
	return database.Collect(ctx, s.reader, scanNumber, fmt.Sprintf(`
		WITH found AS MATERIALIZED (
			SELECT matched.doc
			FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS part (query, first_day, last_day)
			CROSS JOIN LATERAL (SELECT doc FROM %s WHERE words @@ part.query::tsquery%s) AS matched
		)
		SELECT doc FROM found WHERE doc >= $4 AND doc < $5 ORDER BY doc DESC LIMIT $6`, s.Table, s.inDays()),
		all.queries, all.firstDays, all.lastDays, group[len(group)-1].first, s.before, limit)
}

// together is how many segments one look into PostgreSQL's index is about. It reads only what has the rarest word of
// several if they are all that it is asked, and everything if they are asked of one segment or another.
func together(q Query) int {
	if len(q.Words) > 1 || q.Tag != "" {
		return 1
	}
	return maxGroup
}

// maxCompared is in how many things of a segment the last word is compared.
const maxCompared = 128

// candidate is a thing of a segment that matches; or the segment has too many to look at.
type candidate struct {
	segment int // of the group, from 1
	doc     int64
	tooMany bool
}

// narrow finds matches of several words of which the last may be a begin: it looks up what has the complete words, and
// compares the last one there. Segments in which too many have them are asked for all words at once. Where most are
// so, older ones will be too.
func (s *search) narrow(ctx context.Context, group []segment, q Query, limit int) ([]int64, error) {
	if s.common {
		return s.gather(ctx, group, q, limit)
	}
	candidates, err := s.candidates(ctx, group, q)
	if err != nil {
		return nil, err
	}
	crowded := map[int]bool{}
	for _, c := range candidates {
		if c.tooMany {
			crowded[c.segment] = true
		}
	}
	s.common = 2*len(crowded) > len(group)
	var found []int64
	for _, c := range candidates {
		if !crowded[c.segment] {
			found = append(found, c.doc)
		}
	}
	if len(crowded) > 0 {
		var again []segment
		for _, at := range slices.Sorted(maps.Keys(crowded)) {
			again = append(again, group[at-1])
		}
		more, err := s.gather(ctx, again, q, limit)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	slices.SortFunc(found, func(a, b int64) int { return cmp.Compare(b, a) })
	return found[:min(len(found), limit)], nil
}

// candidates looks at what has the complete words of a query, up to maxCompared of each segment.
func (s *search) candidates(ctx context.Context, group []segment, q Query) ([]candidate, error) {
	var all parts
	for i := range group {
		all.add(s.Index, group[i:i+1], q)
	}
	return database.Collect(ctx, s.reader, func(row database.Scanner) (c candidate, err error) {
		err = row.Scan(&c.segment, &c.doc, &c.tooMany)
		return c, err
	}, fmt.Sprintf(`
		SELECT part.segment, had.doc, had.number = $5
		FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])
			WITH ORDINALITY AS part (complete, query, first_day, last_day, segment)
		CROSS JOIN LATERAL (
			SELECT doc, words, row_number() OVER () AS number
			FROM %s
			WHERE words @@ part.complete::tsquery%s
			LIMIT $5
		) AS had
		WHERE had.number = $5 OR had.words @@ part.query::tsquery AND had.doc >= $6 AND had.doc < $7`,
		s.Table, s.inDays()), all.complete, all.queries, all.firstDays, all.lastDays,
		maxCompared+1, group[len(group)-1].first, s.before)
}
