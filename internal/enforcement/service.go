package enforcement

import (
	"context"

	"writ/internal/database"
	"writ/internal/delegation"
	"writ/internal/intent"
	"writ/internal/policy"
	"writ/internal/principal"
)

// Service decides. Make one a process: what it remembers is shared by all
// requests.
type Service struct {
	db        *database.DB
	policies  *policy.Service
	plans     *intent.Service
	approvals *delegation.Service
}

// New makes a service of the areas it composes.
func New(db *database.DB, policies *policy.Service, plans *intent.Service, approvals *delegation.Service) *Service {
	return &Service{db: db, policies: policies, plans: plans, approvals: approvals}
}

// Decide judges a call for the key that makes it. It never fails: what cannot be
// judged or recorded is denied, with the reason.
func (s *Service) Decide(ctx context.Context, p principal.Principal, r Request) Answer {
	return Answer{Reason: "decisions are not built yet", PolicyID: policy.ByDefault, Step: -1, Server: r.Server}
}
