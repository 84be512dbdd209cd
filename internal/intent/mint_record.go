package intent

import (
	"cmp"
	"context"
	"slices"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/grounding"
	"writ/internal/intent/plan"
	"writ/internal/intent/scope"
	"writ/internal/redaction"
)

// add stores and records the plan. Its entry is an observation, which does not raise
// the log's generation: a new plan makes no cached plan stale.
func (s *Service) add(ctx context.Context, tx *database.Tx, n *newPlan) error {
	grounds, err := scope.Clean(ctx, tx, ScopeOf(n.binding))
	if err != nil {
		return err
	}
	if err := insertPlan(ctx, tx, n, grounds); err != nil {
		return err
	}
	if err := s.agents.Saw(ctx, tx, n.by.OrgID, n.binding.AgentID, n.by.KeyID); err != nil {
		return err
	}
	added, err := s.log.Append(ctx, tx, audit.Entry{
		Log:         n.by.OrgID,
		Action:      mintedAction,
		Actor:       n.by,
		Subject:     audit.Subject{Type: "plan", ID: n.id},
		Observation: true,
		Payload: recorded{
			Hash:      n.tree.Root(),
			Goal:      n.goal,
			Source:    n.source,
			Steps:     len(n.plan.Steps),
			Tools:     n.tools(),
			User:      n.binding.UserID,
			Email:     n.binding.Email,
			Agent:     n.binding.AgentID,
			Context:   n.binding.Context,
			Session:   n.binding.Session,
			ExpiresAt: n.expires.Unix(),
			Under:     n.parentID,
			Widened:   n.issued.Widened,
			Turn:      n.turn(),
			Amendment: n.amendment(),
		},
	})
	if err != nil {
		return err
	}
	return s.sayPrompt(ctx, tx, n, grounds, added.Index)
}

// sayPrompt stores the user's words: the prompt that the harness states, else the goal, if nothing but the
// user can have shaped it.
func (s *Service) sayPrompt(ctx context.Context, tx *database.Tx, n *newPlan, grounds bool, position int64) error {
	words := ""
	switch {
	case n.request.Prompt != nil:
		words = *n.request.Prompt
	case grounds && n.ticket == nil: // hooks state what the person typed
		words = n.plan.Words()
	}
	if words == "" || len(words) > grounding.MaxPrompts {
		return nil
	}
	err := s.scopes.Say(ctx, tx, ScopeOf(n.binding), n.id, words, position)
	if n.request.Prompt == nil && fault.Is(err, fault.TooLarge) {
		return nil // no client has to count the bytes of its goals
	}
	return err
}

// ScopeOf is the scope that what is known under a plan belongs to, where its calls state no session or context.
func ScopeOf(b plan.Binding) scope.Key {
	return scope.Key{
		OrgID:   b.OrgID,
		KeyID:   b.KeyID,
		Session: b.Session,
		Context: b.Context,
		User:    cmp.Or(b.UserID, b.Email),
		Agent:   b.AgentID,
	}
}

// recorded is what the audit log says about a new plan.
type recorded struct {
	Hash      string   `json:"planHash"`
	Goal      string   `json:"goal,omitzero"`
	Source    string   `json:"source,omitzero"`
	Steps     int      `json:"steps"`
	Tools     []string `json:"tools"` // the first recordedTools of them
	User      string   `json:"userId,omitzero"`
	Email     string   `json:"userEmail,omitzero"`
	Agent     string   `json:"agentId,omitzero"`
	Context   string   `json:"contextId,omitzero"`
	Session   string   `json:"sessionId,omitzero"`
	ExpiresAt int64    `json:"expiresAt"`
	Under     string   `json:"under,omitzero"`
	Widened   []int    `json:"widened,omitempty"` // see plan.Declared
	Turn      int64    `json:"turn,omitzero"`     // of a guarded session

	Amendment *amendment `json:"amendment,omitzero"`
}

// amendment is what a plan adds to those of its turn, and why.
type amendment struct {
	Reason string   `json:"reason"`
	Adds   []string `json:"adds"` // the first recordedTools tools
}

func (n *newPlan) amendment() *amendment {
	added := n.added()
	if n.ticket == nil || n.request.Amends == "" || len(added) == 0 {
		return nil
	}
	return &amendment{redaction.Text(plainText(n.request.Amends)), added[:min(len(added), recordedTools)]}
}

// recordedTools is how many tools of a plan the audit log names. The hash covers
// all of them.
const recordedTools = 50

func (n *newPlan) tools() []string {
	tools := []string{}
	for _, step := range n.plan.Steps {
		name := redaction.Text(step.Server + "." + step.Tool)
		if len(tools) < recordedTools && !slices.Contains(tools, name) {
			tools = append(tools, name)
		}
	}
	return tools
}
