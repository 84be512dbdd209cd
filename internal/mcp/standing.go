package mcp

import (
	"context"
	"fmt"
	"strings"

	"writ/internal/database"
	"writ/internal/toolname"
)

// maxHeldTools is how many held tools of a server are told apart. If more are held, all are.
const maxHeldTools = 200

// Standing is what decisions must know of an organization's servers. The zero value knows none. It is not
// changed once it is made.
type Standing struct {
	approved map[string]bool // by name, and by the forms that harnesses give to it
	denied   map[string]bool // by names in lower case, as are the rest
	whole    map[string]string
	held     map[toolname.Name]string
}

// The rules of answers that the registry gives.
const (
	RuleDenied = "denied_server"
	RuleHeld   = "held_tool"
)

// StandingOf reads what decisions must know. It checks no right: enforcement asks.
func (s *Service) StandingOf(ctx context.Context, orgID string) (*Standing, error) {
	st := &Standing{}
	r := s.db.Prepared()
	if err := st.readServers(ctx, r, orgID); err != nil {
		return nil, err
	}
	if len(st.approved) == 0 {
		return st, nil
	}
	return st, st.readHeld(ctx, r, orgID)
}

func (st *Standing) readServers(ctx context.Context, r database.Reader, orgID string) error {
	type server struct {
		name       string
		status     Status
		unreadable bool
	}
	all, err := database.Collect(ctx, r, func(row database.Scanner) (s server, err error) {
		err = row.Scan(&s.name, &s.status, database.ToBool(&s.unreadable))
		return s, err
	}, `SELECT name, status, unreadable FROM mcp_server WHERE org_id = $1 AND status <> 'pending'`, orgID)
	if err != nil {
		return fmt.Errorf("read the standing of MCP servers: %w", err)
	}
	for _, s := range all {
		switch {
		case s.status == Denied:
			eachForm(s.name, func(form string) { put(&st.denied, fold(form), true) })
		case s.status == Approved:
			eachForm(s.name, func(form string) { put(&st.approved, form, true) })
			if s.unreadable {
				st.holdAll(s.name, "the server answers, and nobody can tell what it offers")
			}
		}
	}
	return nil
}

func (st *Standing) readHeld(ctx context.Context, r database.Reader, orgID string) error {
	type tool struct {
		server, name, from string
		state              State
	}
	all, err := database.Collect(ctx, r, func(row database.Scanner) (t tool, err error) {
		err = row.Scan(&t.server, &t.name, &t.state, &t.from)
		return t, err
	}, `
		SELECT s.name, t.name, t.state, t.moved_from
		FROM mcp_tool t
		JOIN mcp_server s ON s.id = t.server_id AND s.status = 'approved'
		WHERE t.org_id = $1 AND t.state NOT IN ('listed', 'pinned')
		ORDER BY s.name, t.name`, orgID)
	if err != nil {
		return fmt.Errorf("read the held tools of MCP servers: %w", err)
	}
	count := map[string]int{}
	for _, t := range all {
		if count[t.server]++; count[t.server] > maxHeldTools {
			st.holdAll(t.server, "too many of its tools changed to tell them apart")
			continue
		}
		why := t.state.why(t.from)
		eachForm(t.server, func(server string) {
			hold := func(name string) { put(&st.held, toolname.Name{Server: fold(server), Tool: fold(name)}, why) }
			eachForm(t.name, hold)
			hold(strings.TrimSpace(t.name)) // as calls are judged: nobody can tell which of the two is meant
		})
	}
	return nil
}

func (st *Standing) holdAll(server, why string) {
	eachForm(server, func(form string) { put(&st.whole, fold(form), why) })
}

// Denies reports whether a person has refused a server.
func (st *Standing) Denies(server string) bool {
	return st != nil && len(st.denied) > 0 && st.denied[fold(server)]
}

// Approves reports whether a server is registered and a person has approved it.
func (st *Standing) Approves(server string) bool { return st != nil && st.approved[server] }

// Holds says why calls of a tool wait for a person; empty: they do not.
func (st *Standing) Holds(server, tool string) string {
	if st == nil || len(st.held)+len(st.whole) == 0 {
		return ""
	}
	if why := st.whole[fold(server)]; why != "" {
		return why
	}
	return st.held[toolname.Name{Server: fold(server), Tool: fold(tool)}]
}

// HoldsAny reports whether any tool is held.
func (st *Standing) HoldsAny() bool { return st != nil && len(st.held)+len(st.whole) > 0 }

// Split decides where the server ends in a name of which nobody else can tell: it is the longest approved server among
// the readings. The other readings can only restrict then. A name whose server the client states is left as it is.
func (st *Standing) Split(candidates []toolname.Candidate) []toolname.Candidate {
	if st == nil || len(st.approved) == 0 || len(candidates) < 2 {
		return candidates
	}
	best := -1
	for i, c := range candidates {
		splits := c.Naming == toolname.Reading || i == 0 && c.Naming == toolname.Certain
		if splits && st.approved[c.Server] && (best < 0 || len(c.Server) > len(candidates[best].Server)) {
			best = i
		}
	}
	if best < 0 {
		return candidates
	}
	split := []toolname.Candidate{{Name: candidates[best].Name, Naming: toolname.Certain}}
	for i, c := range candidates {
		if i == best {
			continue
		}
		if c.Naming != toolname.Guess {
			c.Naming = toolname.Claimed
		}
		split = append(split, c)
	}
	return split
}

// eachForm gives a name as it is, and as harnesses write it.
func eachForm(name string, do func(form string)) {
	do(name)
	for _, form := range toolname.Normal(name) {
		do(form)
	}
}

func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

func fold(name string) string { return strings.ToLower(name) }
