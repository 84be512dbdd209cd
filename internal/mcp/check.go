package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"writ/internal/canonical"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/mcp/definition"
	"writ/internal/mcp/discovery"
	"writ/internal/principal"
)

// maxProblem bounds what is stored of a problem, in bytes.
const maxProblem = 500

// looked is what asking a server brought.
type looked struct {
	found      definition.Server
	latency    time.Duration
	problem    string // empty: it answered
	unreadable bool
	agreed     bool // a person registers the server with this, and agrees to what it lists
}

// look asks a server, in the name of a person where it wants that. It changes nothing.
func (s *Service) look(ctx context.Context, of *Server, userID string) (looked, error) {
	header, err := s.credentials(of)
	if of.ByConsent() {
		var problem string
		if header, problem, err = s.consented(ctx, of, userID); problem != "" {
			return looked{problem: problem}, nil
		}
	}
	if err != nil {
		return looked{}, err
	}
	began := time.Now()
	found, err := s.Options.List(ctx, discovery.Target{URL: of.URL, Transport: of.Transport, Header: header})
	l := looked{found: found, latency: time.Since(began)}
	if err == nil {
		return l, nil
	}
	if ctx.Err() != nil {
		return looked{}, ctx.Err() // whoever asked is gone; the server may be fine
	}
	unreadable, ok := errors.AsType[*discovery.Unreadable](err)
	unreachable, fails := errors.AsType[*discovery.Unreachable](err)
	switch {
	case ok:
		l.problem, l.unreadable = unreadable.Reason, true
	case fails:
		l.problem = unreachable.Reason
	default:
		return looked{}, err
	}
	l.problem = cutText(definition.Visible(l.problem), maxProblem)
	return l, nil
}

// credentials are the headers by which a server knows its caller.
func (s *Service) credentials(of *Server) (http.Header, error) {
	if len(of.sealed) == 0 {
		return nil, nil
	}
	value, err := s.Sealer.Open(sealContext(of.ID), of.sealed)
	if err != nil {
		return nil, fmt.Errorf("open the secret of MCP server %s: %w", of.ID, err)
	}
	header := http.Header{}
	if of.Auth.Type == definition.AuthBearer {
		header.Set("Authorization", "Bearer "+string(value))
	} else {
		header.Set(of.Auth.Header, string(value))
	}
	return header, nil
}

// consented are the headers of a person who has consented, or why there are none.
func (s *Service) consented(ctx context.Context, of *Server, userID string) (http.Header, string, error) {
	token, err := s.UserToken(ctx, of.OrgID, userID, of)
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Forbidden {
		return nil, cutText(definition.Visible(f.Message), maxProblem), nil
	}
	if err != nil {
		return nil, "", err
	}
	return http.Header{"Authorization": {"Bearer " + token.Reveal()}}, "", nil
}

// firstLook asks a server that a person registers just now: they agree to what it lists.
func (s *Service) firstLook(ctx context.Context, p principal.Principal, of Server) (Server, error) {
	l, err := s.look(ctx, &of, p.UserID)
	if err == nil {
		l.agreed = true
		err = s.settle(ctx, &of, l)
	}
	return s.asAsked(ctx, p, of, err)
}

// askNow asks a server that a person has changed or asks about. That changes nothing of what somebody has agreed to.
func (s *Service) askNow(ctx context.Context, p principal.Principal, of Server) (Server, error) {
	return s.asAsked(ctx, p, of, s.check(ctx, &of, p.UserID))
}

// asAsked reads a server after it was asked. That it did not answer is no error.
func (s *Service) asAsked(ctx context.Context, p principal.Principal, of Server, err error) (Server, error) {
	if err != nil && !fault.Is(err, fault.NotFound) {
		return Server{}, err
	}
	return find(ctx, s.db, p.OrgID, of.ID)
}

// Refresh asks a server now, and compares what it lists with its pins.
func (s *Service) Refresh(ctx context.Context, p principal.Principal, id string) (Server, error) {
	if err := requireManager(p); err != nil {
		return Server{}, err
	}
	of, err := find(ctx, s.db, p.OrgID, id)
	if err != nil {
		return Server{}, err
	}
	if of.URL == "" {
		return Server{}, fault.New(fault.Conflict,
			"the server has no address to ask: writ mcp register lists a program's tools on its own machine")
	}
	return s.askNow(ctx, p, of)
}

// check asks a server and stores what came of it.
func (s *Service) check(ctx context.Context, of *Server, userID string) error {
	l, err := s.look(ctx, of, userID)
	if err != nil {
		return err
	}
	return s.settle(ctx, of, l)
}

// settle stores what asking a server brought. It writes to the log only where something changed that
// decisions depend on.
func (s *Service) settle(ctx context.Context, asked *Server, l looked) error {
	hash := ""
	if l.problem == "" {
		var err error
		if hash, err = hashOf(l.found); err != nil {
			l.problem, l.unreadable = "the list cannot be hashed", true
		}
	}
	same := l.problem == "" && hash == asked.ListedHash && !asked.Health.Unreadable ||
		l.problem != "" && (!l.unreadable || asked.Health.Unreadable)
	if same {
		return s.db.Write(ctx, database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
			return storeCheck(ctx, tx, asked, l)
		}})
	}
	offered := asked.offered(l.found)
	offered.agreed = l.agreed
	return s.write(ctx, asked.OrgID, func(ctx context.Context, tx *database.Tx) error {
		now, err := find(ctx, tx, asked.OrgID, asked.ID)
		if err != nil {
			return err
		}
		if now.revision != asked.revision {
			return nil // a person has changed the server meanwhile, and it is asked again
		}
		if err := storeCheck(ctx, tx, &now, l); err != nil {
			return err
		}
		if l.problem != "" {
			return s.settleUnreadable(ctx, tx, &now, l)
		}
		return s.settleTools(ctx, tx, watcher(now.OrgID), &now, offered)
	})
}

// settleUnreadable records that nobody can tell any more what a server offers. Only a list that can be read
// ends that: a server must not be released because it is down.
func (s *Service) settleUnreadable(ctx context.Context, tx *database.Tx, of *Server, l looked) error {
	_, err := tx.Exec(ctx, `UPDATE mcp_server SET unreadable = 1 WHERE id = $1`, of.ID)
	if err != nil {
		return fmt.Errorf("store what an MCP server lists: %w", err)
	}
	if err := s.redefined(ctx, tx, watcher(of.OrgID), of); err != nil {
		return err
	}
	if err := s.notifyUnreadable(ctx, tx, of, l.problem); err != nil {
		return err
	}
	return s.record(ctx, tx, watcher(of.OrgID), toolsChanged, of,
		map[string]any{"name": of.Name, "problem": l.problem}, of.Status != Approved)
}

// settleTools compares what a server lists with its pins, and stores and records what differs.
func (s *Service) settleTools(
	ctx context.Context, tx *database.Tx, by principal.Principal, of *Server, offered offer,
) error {
	found := offered.found
	listed, err := versions(found)
	if err != nil {
		return fault.Field("definition", "%s", err)
	}
	hash, err := hashOf(found)
	if err != nil {
		return fault.Field("definition", "%s", err)
	}
	before, after, err := compareTools(ctx, tx, by, of, listed, offered.agreed)
	if err != nil {
		return err
	}
	if err := replaceTools(ctx, tx, of, after); err != nil {
		return err
	}
	if err := storeListed(ctx, tx, of, found, hash); err != nil {
		return err
	}
	of.ListedHash = hash
	if err := s.redefined(ctx, tx, by, of); err != nil {
		return err
	}
	if err := s.storeReport(ctx, tx, by, of, offered.report); err != nil {
		return err
	}
	if err := s.notifyTools(ctx, tx, by, of, newlyHeld(before, after), offered.report); err != nil {
		return err
	}
	changed, more := differences(before, after)
	if len(changed) == 0 && !of.Health.Unreadable {
		return nil
	}
	return s.record(ctx, tx, by, toolsChanged, of,
		map[string]any{"name": of.Name, "tools": changed, "more": more}, of.Status != Approved)
}

// compareTools are the tools of a server before and after it has listed some. agreed: a person knows that list.
func compareTools(
	ctx context.Context, tx *database.Tx, by principal.Principal, of *Server, listed []Version, agreed bool,
) (before, after []Tool, err error) {
	if before, err = readTools(ctx, tx, of.ID); err != nil {
		return nil, nil, err
	}
	first := of.Status == Approved && !of.Pinned
	p := pins{
		known:   before,
		pinned:  of.Pinned || first,
		trusted: first && agreed,                 // else nobody has seen the first list: all of it is new
		by:      cmp.Or(by.UserID, of.DecidedBy), // whoever sends the list, else whoever registers the server
		at:      tx.Now(),
	}
	if p.pinned && !p.trusted {
		if p.elsewhere, err = acceptedElsewhere(ctx, tx, of, unknownIn(before, listed)); err != nil {
			return nil, nil, err
		}
	}
	return before, p.compare(listed), nil
}

// storeListed stores what a server says of itself.
func storeListed(
	ctx context.Context, tx *database.Tx, of *Server, found definition.Server, hash string,
) error {
	said := Server{About: found}
	_, about, err := said.texts()
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		UPDATE mcp_server
		SET about = $2, listed_hash = $3, unreadable = 0, pinned = CASE WHEN status = 'approved' THEN 1 ELSE pinned END
		WHERE id = $1`, of.ID, about, hash)
	return database.Wrap(err, "store what an MCP server lists")
}

// storeCheck stores how a server answered.
func storeCheck(ctx context.Context, tx *database.Tx, of *Server, l looked) error {
	now := tx.Now()
	healthy, micros := database.Bit(l.problem == ""), l.latency.Microseconds()
	stored, err := tx.Exec(ctx, `
		UPDATE mcp_server
		SET checked_at = $2, since = CASE WHEN healthy = $3 THEN since ELSE $2 END, healthy = $3, latency = $4,
			problem = $5, check_at = $6, watched = CASE WHEN status = 'pending' THEN 0 ELSE watched END
		WHERE id = $1`,
		of.ID, database.Micros(now), healthy, micros, l.problem, database.Micros(now.Add(nextCheck(of.ID, now))))
	if err == nil && stored > 0 { // else a person has removed the server meanwhile
		_, err = tx.InsertNew(ctx, `INSERT INTO mcp_check (server_id, at, healthy, latency, problem)`,
			[][]any{{of.ID, database.Micros(now), healthy, micros, l.problem}})
	}
	return database.Wrap(err, "store how an MCP server answered")
}

// versions are the tools of a definition with their hashes.
func versions(found definition.Server) ([]Version, error) {
	if err := found.Check(); err != nil {
		return nil, err
	}
	all := make([]Version, len(found.Tools))
	for i, tool := range found.Tools {
		hash, err := tool.Hash()
		if err != nil {
			return nil, fmt.Errorf("tools[%d]: %w", i, err)
		}
		all[i] = Version{hash, tool}
	}
	return all, nil
}

// unknownIn are the names of listed tools that nobody has accepted here.
func unknownIn(known []Tool, listed []Version) (unknown []string) {
	accepted := make(map[string]bool, len(known))
	for _, t := range known {
		accepted[t.Name] = t.Accepted.Hash != ""
	}
	for _, v := range listed {
		if !accepted[v.Tool.Name] {
			unknown = append(unknown, v.Tool.Name)
		}
	}
	return unknown
}

// hashOf is the hash of everything that a server says of itself.
func hashOf(found definition.Server) (string, error) {
	found.Transport, found.URL, found.Auth, found.Command = "", "", "", nil
	raw, err := json.Marshal(found)
	if err != nil {
		return "", err
	}
	text, err := canonical.Transform(raw)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// watcher is who records what servers list: this server itself.
func watcher(orgID string) principal.Principal {
	p := principal.Operator()
	p.OrgID = orgID
	return p
}
