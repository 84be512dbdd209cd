package intent

import (
	"context"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/grounding"
	"writ/internal/intent/plan"
	"writ/internal/principal"
)

// ActionPrompted is the audit action of a prompt that a harness states.
const ActionPrompted = "session.prompted"

// Prompt stores what the user said in a session, before or without a plan, and text that came along which the user did
// not say. The log tells only how long they are.
func (s *Service) Prompt(ctx context.Context, p principal.Principal, r Request, text string) error {
	if err := requireAgent(p); err != nil {
		return err
	}
	r, err := r.checked()
	if err != nil {
		return err
	}
	words := ""
	if r.Prompt != nil {
		words = *r.Prompt
	}
	if words == "" && text == "" {
		return fault.Field("prompt", "must be what the user said")
	}
	if len(text) > grounding.MaxBytes {
		return fault.New(fault.TooLarge, "text has %d bytes; at most %d are allowed", len(text), grounding.MaxBytes)
	}
	key := ScopeOf(plan.Binding{
		OrgID:   p.OrgID,
		KeyID:   p.KeyID,
		UserID:  r.UserID,
		Email:   r.Email,
		AgentID: r.AgentID,
		Context: r.ContextID,
		Session: r.SessionID,
	})
	return s.db.Write(ctx, database.Change{Logs: []string{p.OrgID}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		added, err := s.log.Append(ctx, tx, audit.Entry{
			Log:         p.OrgID,
			Action:      ActionPrompted,
			Actor:       p,
			Subject:     audit.Subject{Type: "session", ID: key.ID()},
			Observation: true,
			Payload:     map[string]any{"sessionId": r.SessionID, "promptBytes": len(words), "textBytes": len(text)},
		})
		if err == nil && words != "" {
			err = s.scopes.Say(ctx, tx, key, "", words, added.Index)
		}
		if err == nil && text != "" {
			err = s.scopes.Show(ctx, tx, key, text, added.Index)
		}
		return err
	}})
}
