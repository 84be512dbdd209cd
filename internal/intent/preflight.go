package intent

import (
	"context"
	"slices"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/names"
	"writ/internal/principal"
	"writ/internal/redaction"
)

// PreflightAction is what the log says of a preflight.
const PreflightAction = "plan.preflighted"

// How many bytes are kept of a prompt, and of why a call would not be allowed.
const (
	maxPrompt    = 2_000
	maxViolation = 600
)

// The outcomes of a preflight, strictest first.
const (
	Rejected  = "rejected"
	Escalated = "escalated"
	Accepted  = "accepted"
)

// Preflight is what was said about calls an agent thinks of making, before it
// declares a plan. It decides nothing.
type Preflight struct {
	ID         string          `json:"id"`
	Outcome    string          `json:"decision"`
	AgentID    string          `json:"agentId,omitzero"`
	Prompt     string          `json:"prompt,omitzero"`
	Tools      []PreflightTool `json:"tools"`
	Violations []string        `json:"violations"`
}

// PreflightTool is one of the calls; its arguments are not kept.
type PreflightTool struct {
	Server  string `json:"server"`
	Tool    string `json:"tool"`
	Verdict string `json:"verdict"`
	Policy  string `json:"policyId,omitzero"`
	Rule    string `json:"rule,omitzero"`
}

// RecordPreflight records a preflight in the log of the caller's organization,
// redacted, and gives its id. It is an observation: nothing depends on it.
func (s *Service) RecordPreflight(ctx context.Context, p principal.Principal, f Preflight) (id string, err error) {
	if err := requireAgent(p); err != nil {
		return "", err
	}
	f = f.kept()
	f.ID = database.NewID()
	err = s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(p.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		_, err := s.log.Append(ctx, tx, audit.Entry{
			Log:         audit.LogOf(p.OrgID),
			Action:      PreflightAction,
			Actor:       p,
			Subject:     audit.Subject{Type: "preflight", ID: f.ID},
			Observation: true,
			Payload:     f,
		})
		return err
	}})
	return f.ID, err
}

// kept is the preflight as it is stored. Names come from a model, and what is said
// of them repeats them.
func (f Preflight) kept() Preflight {
	f.AgentID, f.Prompt = keptText(f.AgentID, names.MaxBytes), keptText(f.Prompt, maxPrompt)
	f.Tools, f.Violations = slices.Clone(f.Tools), slices.Clone(f.Violations)
	for i := range f.Tools {
		t := &f.Tools[i]
		t.Server, t.Tool = keptText(t.Server, names.MaxBytes), keptText(t.Tool, names.MaxBytes)
	}
	for i := range f.Violations {
		f.Violations[i] = keptText(f.Violations[i], maxViolation)
	}
	return f
}

// keptText is a text without secrets, and not longer than it may be. It is cut last:
// half a secret does not look like one.
func keptText(text string, most int) string { return names.Cut(redaction.Text(plainText(text)), most) }
