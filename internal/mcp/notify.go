package mcp

import (
	"context"
	"fmt"

	"writ/internal/database"
	"writ/internal/mcp/scan"
	"writ/internal/principal"
)

// Held is what people are notified of: tools of an approved server that are held since now.
type Held struct {
	Server *Server
	Tools  []string // the first of them; none: all tools of the server, because its list cannot be read
	More   int
	Why    string
	// Cause is what the server lists. A list that comes back is no news.
	Cause string
}

// Notifier tells people what is held. It is called in the transaction that holds or releases; nil functions: nobody
// is told.
type Notifier struct {
	Held func(ctx context.Context, tx *database.Tx, h Held) error
	// Released: nothing that the server lists is held any more.
	Released func(ctx context.Context, tx *database.Tx, orgID, serverID string) error
}

// maxNamed is how many held tools are named.
const maxNamed = 10

// newlyHeld are the tools that came to be held, or were held and are now something else. A tool that is gone is held
// too, but nothing can be accepted of it, and nothing of it can run.
func newlyHeld(before, after []Tool) (held []Tool) {
	was := make(map[string]Tool, len(before))
	for _, t := range before {
		was[t.Name] = t
	}
	for _, t := range after {
		old := was[t.Name]
		if t.waits() && (!old.waits() || old.Listed.Hash != t.Listed.Hash) {
			held = append(held, t)
		}
	}
	return held
}

// waits reports whether a person can look at the tool and accept it.
func (t *Tool) waits() bool { return t.State.Holds() && t.State != Gone && t.State != "" }

// notifyTools tells people of tools that are held since now, or that none is any more. A person who has just sent the
// list reads the answer.
func (s *Service) notifyTools(
	ctx context.Context, tx *database.Tx, by principal.Principal, of *Server, held []Tool, report scan.Report,
) error {
	if len(held) == 0 {
		return s.notifyReleased(ctx, tx, of)
	}
	if s.Notify.Held == nil || of.Status != Approved || by.Kind == principal.User {
		return nil
	}
	h := Held{Server: of, Why: held[0].Why(), Cause: of.ListedHash}
	for _, t := range held[:min(len(held), maxNamed)] {
		h.Tools = append(h.Tools, t.Name)
	}
	h.More = len(held) - len(h.Tools)
	if worst := report.Worst(); worst >= scan.Medium {
		h.Why += fmt.Sprintf("; the worst that the scanner finds in what the server lists is %s", worst)
	}
	return s.Notify.Held(ctx, tx, h)
}

// notifyUnreadable tells people that nobody can tell what a server offers.
func (s *Service) notifyUnreadable(ctx context.Context, tx *database.Tx, of *Server, problem string) error {
	if s.Notify.Held == nil || of.Status != Approved {
		return nil
	}
	return s.Notify.Held(ctx, tx, Held{Server: of, Why: problem, Cause: "unreadable/" + of.ListedHash})
}

// notifyReleased settles what people were told, once nothing waits for them.
func (s *Service) notifyReleased(ctx context.Context, tx *database.Tx, of *Server) error {
	if s.Notify.Released == nil {
		return nil
	}
	tools, err := readTools(ctx, tx, of.ID)
	if err != nil {
		return err
	}
	for i := range tools {
		if tools[i].waits() {
			return nil
		}
	}
	return s.Notify.Released(ctx, tx, of.OrgID, of.ID)
}
