package intent

import (
	"context"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/intent/scope"
	"writ/internal/keyring"
	"writ/internal/principal"
	"writ/internal/secret"
)

// Purposes of the signing keys. A key signs for one purpose only.
const (
	PlanKey    keyring.Purpose = "plan"           // tokens of plans
	JWTKey     keyring.Purpose = "plan-jwt"       // their JWTs
	BindingKey keyring.Purpose = "policy-binding" // tokens that bind a policy's text
	TrustKey   keyring.Purpose = "trust"          // the keys with which organizations sign delegations
)

// Service mints, finds, shows and ends plans. A process has one, whose cache all
// requests share.
type Service struct {
	db      *database.DB
	log     *audit.Log
	keys    *keyring.Ring
	sealer  *secret.Sealer
	scopes  *scope.Service
	agents  Agents
	plans   *cache
	digests digestKeys
	trust   trustKeys
}

// Agents is what plans ask and tell about agents. Without a member nothing has ended, and nobody is told.
type Agents struct {
	// Ended reports whether the kill switch has stopped an agent or key, or ended any of their plans.
	Ended func(ctx context.Context, r database.Reader, orgID, agentID, keyID string, plans ...string) (bool, error)
	// Saw is told, within its change, that a key declares a plan as an agent.
	Saw func(ctx context.Context, tx *database.Tx, orgID, agentID, keyID string) error
}

// New makes a service. It starts no job: the app calls Prune.
func New(
	db *database.DB, log *audit.Log, keys *keyring.Ring, sealer *secret.Sealer, scopes *scope.Service, agents Agents,
) *Service {
	if agents.Ended == nil {
		agents.Ended = func(context.Context, database.Reader, string, string, string, ...string) (bool, error) {
			return false, nil
		}
	}
	if agents.Saw == nil {
		agents.Saw = func(context.Context, *database.Tx, string, string, string) error { return nil }
	}
	return &Service{
		db:     db,
		log:    log,
		keys:   keys,
		sealer: sealer,
		scopes: scopes,
		agents: agents,
		plans:  newCache(),
	}
}

// requireAgent admits the keys of an organization that may declare plans.
func requireAgent(p principal.Principal) error {
	switch {
	case !p.HasScope(principal.Enforce):
		return fault.New(fault.Forbidden, "an API key with the scope enforce is needed to declare plans")
	case p.OrgID == "":
		return fault.New(fault.Forbidden, "this key belongs to no organization")
	}
	return nil
}

// requireReader admits members, and keys for their own plans.
func requireReader(p principal.Principal) error {
	if p.Kind == principal.Key {
		return requireAgent(p)
	}
	if p.OrgID == "" {
		return fault.New(fault.Forbidden, "plans belong to an organization")
	}
	return p.Require(principal.ReadTelemetry)
}

func noSuchPlan() error { return fault.New(fault.NotFound, "no such plan") }
