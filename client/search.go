package client

import (
	"context"
	"strings"
	"time"
)

// Found is something that a search found.
type Found struct {
	Kind  string    `json:"kind"` // agent, approval, entry, member, plan, policy, server, session or trace
	ID    string    `json:"id"`
	Title string    `json:"title"`
	Note  string    `json:"note"`
	At    time.Time `json:"at"`
	Match []Piece   `json:"match"` // the text that matched, in pieces
}

// Piece is a part of a text.
type Piece struct {
	Text string `json:"text"`
	Hit  bool   `json:"hit"` // it is what was looked for
}

// FoundPage is a page of what a search found.
type FoundPage struct {
	Page[Found]
	Indexing bool `json:"indexing"` // something is not in the index yet
}

// SearchQuery is what to look for. Without kinds, all are.
type SearchQuery struct {
	List
	Text  string
	Kinds []string
}

// Search finds traces, sessions, agents, policies, servers, plans, approvals, members and entries of the audit log.
func (c *Client) Search(ctx context.Context, orgID string, q SearchQuery) (FoundPage, error) {
	return get[FoundPage](ctx, c, "/search",
		q.with("organizationId", orgID, "q", q.Text, "kinds", strings.Join(q.Kinds, ",")))
}
