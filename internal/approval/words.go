package approval

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/wordindex"
)

// requestWords is what the index of words calls requests.
const requestWords = "approval"

// IndexWords gives requests that were opened, or whose arguments were erased, their words.
func (s *Service) IndexWords(ctx context.Context) error {
	return wordindex.Work(ctx, s.db, requestWords, readWords)
}

// readWords reads what a request is found by. Its owner is a tag, because some see no others: see sees.
func readWords(ctx context.Context, r database.Reader, orgID, id string) (*wordindex.Text, error) {
	var owner, server, tool, agent, email, arguments, asked string
	err := r.QueryRow(ctx, `
		SELECT owner_id, server, tool, agent_id, email, arguments, asked_for
		FROM approval_request
		WHERE id = $1 AND org_id = $2`, id, orgID).Scan(&owner, &server, &tool, &agent, &email, &arguments, &asked)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &wordindex.Text{
		Words:    wordindex.Words(wordindex.MaxWords, tool, server, agent, email),
		Payloads: wordindex.Words(wordindex.MaxWords, asked, arguments),
		Tags:     []string{ownerTag(owner)},
	}, database.Wrap(err, "read the words of request %s", id)
}

// ownerTag is the tag of an owner: the id without its hyphens.
func ownerTag(ownerID string) string {
	return strings.Join(wordindex.Words(wordindex.MaxWords, ownerID), "")
}

type dated struct {
	id   string
	made time.Time
}

// forgetWords has the words of requests whose texts the entry described forgotten, and read again.
func forgetWords(ctx context.Context, tx *database.Tx, orgID string, position int64) error {
	requests, err := database.Collect(ctx, tx, func(row database.Scanner) (d dated, err error) {
		err = row.Scan(&d.id, database.ToTime(&d.made))
		return d, err
	}, `SELECT id, created_at FROM approval_request WHERE org_id = $1 AND opened_at_entry = $2`, orgID, position)
	if err != nil {
		return fmt.Errorf("find the requests of entry %d: %w", position, err)
	}
	for _, r := range requests {
		if err := wordindex.Forget(ctx, tx, orgID, requestWords, r.id, r.made); err != nil {
			return err
		}
	}
	return nil
}

// FoundRequest is a request that words have found. Those that were opened at the same time are in the order of their
// numbers.
type FoundRequest struct {
	Request
	Number int64
}

// Search finds requests by words, opened at a time or before, newest first: those that List shows to the caller.
// Words of arguments match only for those who may read them.
func (s *Service) Search(
	ctx context.Context, p principal.Principal, q wordindex.Query, until time.Time, limit int,
) (requests []FoundRequest, err error) {
	if p.Kind != principal.User || p.OrgID == "" {
		return nil, fault.New(fault.Forbidden, "only a person may search requests for approval")
	}
	q.Payloads = p.May(principal.ReadPayloads)
	if !p.May(principal.DecideApprovals) {
		q.Tag = ownerTag(p.UserID)
	}
	found, err := wordindex.FindThings(ctx, s.db, p.OrgID, requestWords, q, wordindex.Before(until), limit)
	if err != nil {
		return nil, fmt.Errorf("search requests for approval: %w", err)
	}
	for _, f := range found {
		r, err := s.Get(ctx, p, f.ID)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		requests = append(requests, FoundRequest{r, f.Number})
	}
	return requests, nil
}

// Indexing reports whether requests of an organization wait to be indexed.
func (s *Service) Indexing(ctx context.Context, orgID string) (bool, error) {
	return wordindex.Waits(ctx, s.db, orgID, requestWords)
}
