package mcp

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/mcp/definition"
	"writ/internal/mcp/scan"
	"writ/internal/principal"
)

// What the audit log says of scans.
const (
	scanned         = "mcp.scanned"
	findingAccepted = "mcp.finding_accepted"
)

// Limits of a scan of one server among the others of its organization.
const (
	maxOthers     = 100
	maxOtherTools = 2_000
)

// PinRule is the rule of findings about held tools.
const PinRule = "pin"

// Finding is something that a person should look at. It is open until a person accepts it.
type Finding struct {
	scan.Finding
	FirstSeenAt time.Time
	LastSeenAt  time.Time
	Present     bool // the last scan found it
	AcceptedBy  string
	AcceptedAt  *time.Time
	AcceptedFor string
}

// IsOpen reports whether the finding still waits for a person.
func (f *Finding) IsOpen() bool { return f.Present && f.AcceptedBy == "" }

// IsSerious reports whether a person should look before agents use the server.
func (f *Finding) IsSerious() bool { return f.Severity >= scan.Medium }

// offer is what a server lists, and what a scan of it found.
type offer struct {
	found  definition.Server
	report scan.Report
	agreed bool // a person registers the server with this list, or sends the list themselves
}

// offered scans what a server lists. It is done outside of transactions: a large list takes a while.
func (of *Server) offered(found definition.Server) offer {
	return offer{found: found, report: scan.Server(of.described(found))}
}

// described is a definition under the name and address that the registry knows.
func (of *Server) described(found definition.Server) *definition.Server {
	found.Name, found.URL, found.Transport, found.Command = of.Name, of.URL, of.Transport, of.Command
	found.Auth = of.Auth.Type
	return &found
}

// Scan asks a server, if it can be asked, and scans what it lists, also together with the other approved servers of the
// organization. The verdict stands in the log.
func (s *Service) Scan(ctx context.Context, p principal.Principal, id string) (Server, []Finding, error) {
	if err := requireManager(p); err != nil {
		return Server{}, nil, err
	}
	of, err := find(ctx, s.db, p.OrgID, id)
	if err != nil {
		return Server{}, nil, err
	}
	if of.URL != "" {
		if of, err = s.askNow(ctx, p, of); err != nil {
			return Server{}, nil, err
		}
	}
	report, err := s.scanAmong(ctx, &of)
	if err != nil {
		return Server{}, nil, err
	}
	err = s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) error {
		if _, err := find(ctx, tx, p.OrgID, of.ID); err != nil {
			return err // removed meanwhile
		}
		return s.storeReport(ctx, tx, p, &of, report)
	})
	if err != nil {
		return Server{}, nil, err
	}
	return s.Findings(ctx, p, of.ID)
}

// scanAmong scans a server together with others of its organization, and keeps what is about this one.
func (s *Service) scanAmong(ctx context.Context, of *Server) (scan.Report, error) {
	others, err := list(ctx, s.db, of.OrgID, Approved)
	if err != nil {
		return scan.Report{}, err
	}
	others = slices.DeleteFunc(others, func(o Server) bool { return o.ID == of.ID })
	all := []*definition.Server{}
	tools := 0
	for _, o := range append([]Server{*of}, others[:min(len(others), maxOthers)]...) {
		known, err := readTools(ctx, s.db, o.ID)
		if err != nil {
			return scan.Report{}, err
		}
		if tools += len(known); o.ID != of.ID && tools > maxOtherTools {
			break
		}
		said := o.About
		for _, t := range known {
			if t.Listed.Hash != "" {
				said.Tools = append(said.Tools, t.Listed.Tool)
			}
		}
		all = append(all, o.described(said))
	}
	report := scan.Set(all)
	report.Findings = slices.DeleteFunc(report.Findings, func(f scan.Finding) bool {
		return f.Server != "" && f.Server != of.Name
	})
	return report, nil
}

// storeReport stores what a scan found, and records the verdict.
func (s *Service) storeReport(
	ctx context.Context, tx *database.Tx, by principal.Principal, of *Server, report scan.Report,
) error {
	added, err := replaceFindings(ctx, tx, of.ID, report.Findings)
	if err != nil {
		return err
	}
	counts := map[string]int{}
	for _, f := range report.Findings {
		counts[f.Severity.String()]++
	}
	return s.record(ctx, tx, by, scanned, of, map[string]any{
		"name": of.Name, "listed": of.ListedHash, "worst": report.Worst().String(), "findings": counts, "new": added,
		"dropped": report.Dropped,
	}, true)
}

// Findings reads a server and what is found about it, the most severe first. Held tools are among it.
func (s *Service) Findings(ctx context.Context, p principal.Principal, id string) (Server, []Finding, error) {
	of, tools, err := s.Tools(ctx, p, id)
	if err != nil {
		return Server{}, nil, err
	}
	found, err := readFindings(ctx, s.db, of.ID)
	if err != nil {
		return Server{}, nil, err
	}
	for i := range tools {
		if t := &tools[i]; t.State.Holds() {
			found = append(found, t.finding(of.Name))
		}
	}
	slices.SortStableFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), strings.Compare(a.Place, b.Place))
	})
	return of, found, nil
}

// finding says of a held tool what changed.
func (t *Tool) finding(server string) Finding {
	lines := []string{}
	for _, c := range t.Diff() {
		lines = append(lines, c.String())
	}
	return Finding{
		Finding: scan.Finding{
			ID:          PinRule,
			Severity:    scan.High,
			Server:      server,
			Place:       "tools." + definition.Visible(t.Name),
			Title:       t.Why(),
			Evidence:    cutText(strings.Join(lines, "; "), maxEvidence),
			Advice:      "Compare the tool with what was accepted, and accept it as it is, or deny the server.",
			OWASP:       []string{},
			SAFEMCP:     []string{},
			Fingerprint: cmp.Or(t.Listed.Hash, t.Accepted.Hash),
		},
		FirstSeenAt: t.Since,
		LastSeenAt:  t.Since,
		Present:     true,
	}
}

const maxEvidence = 2_000

// AcceptFinding accepts a finding with a reason. It stays accepted until its text, and so its fingerprint, changes.
func (s *Service) AcceptFinding(
	ctx context.Context, p principal.Principal, id, fingerprint, reason string,
) (Finding, error) {
	if err := requireManager(p); err != nil {
		return Finding{}, err
	}
	reason, err := checkReason(reason)
	if err != nil {
		return Finding{}, err
	}
	var f Finding
	err = s.write(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) error {
		of, err := find(ctx, tx, p.OrgID, id)
		if err != nil {
			return err
		}
		if f, err = findFinding(ctx, tx, of.ID, fingerprint); err != nil {
			return err
		}
		if f.AcceptedBy != "" {
			return fault.New(fault.Conflict, "the finding is accepted already")
		}
		f.AcceptedBy, f.AcceptedAt, f.AcceptedFor = p.UserID, new(tx.Now()), reason
		if err := acceptFinding(ctx, tx, of.ID, &f); err != nil {
			return err
		}
		return s.record(ctx, tx, p, findingAccepted, &of, map[string]any{
			"name": of.Name, "rule": f.ID, "severity": f.Severity.String(), "place": f.Place,
			"fingerprint": f.Fingerprint, "reason": reason,
		}, true)
	})
	return f, err
}
