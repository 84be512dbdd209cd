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

// PreflightAction is the audit action of a preflight.
const PreflightAction = "plan.preflighted"

// How many bytes are stored of a prompt, and of the reason against a call.
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

// Preflight is the answer about calls that an agent considers before it declares a
// plan. It decides nothing.
type Preflight struct {
	ID         string          `json:"id"`
	Outcome    string          `json:"decision"`
	AgentID    string          `json:"agentId,omitzero"`
	Prompt     string          `json:"prompt,omitzero"`
	Tools      []PreflightTool `json:"tools"`
	Violations []string        `json:"violations"`
}

// PreflightTool is one of the calls; its arguments are not stored.
type PreflightTool struct {
	Server  string `json:"server"`
	Tool    string `json:"tool"`
	Verdict string `json:"verdict"`
	Policy  string `json:"policyId,omitzero"`
	Rule    string `json:"rule,omitzero"`
}

// RecordPreflight records a preflight, redacted, in the log of the caller's
// organization and returns its id. No cached state depends on it.
func (s *Service) RecordPreflight(ctx context.Context, p principal.Principal, f Preflight) (id string, err error) {
	if err := requireAgent(p); err != nil {
		return "", err
	}
	f = f.redacted()
	f.ID = database.NewID()
	err = s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(p.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		entry, err := s.log.Append(ctx, tx, audit.Entry{
			Log:         audit.LogOf(p.OrgID),
			Action:      PreflightAction,
			Actor:       p,
			Subject:     audit.Subject{Type: "preflight", ID: f.ID},
			Observation: true,
			Payload:     f,
		})
		if err != nil {
			return err
		}
		return insertPreflight(ctx, tx, p.OrgID, entry.Index, &f)
	}})
	return f.ID, err
}

// redacted is the preflight as it is stored. Names come from a model, and violations
// repeat them.
func (f Preflight) redacted() Preflight {
	f.AgentID, f.Prompt = redactAndCut(f.AgentID, names.MaxBytes), redactAndCut(f.Prompt, maxPrompt)
	f.Tools, f.Violations = slices.Clone(f.Tools), slices.Clone(f.Violations)
	for i := range f.Tools {
		t := &f.Tools[i]
		t.Server, t.Tool = redactAndCut(t.Server, names.MaxBytes), redactAndCut(t.Tool, names.MaxBytes)
	}
	for i := range f.Violations {
		f.Violations[i] = redactAndCut(f.Violations[i], maxViolation)
	}
	return f
}

// redactAndCut cuts last: half a secret does not look like a secret.
func redactAndCut(text string, most int) string {
	return names.Cut(redaction.Text(plainText(text)), most)
}
