package policy

import (
	"context"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Service stores policies and evaluates them. A process needs one, whose compiled policies all requests share.
type Service struct {
	db        *database.DB
	log       *audit.Log
	spending  Spending
	compiler  *compiler // of what people write
	loader    *compiler // of what decisions and activations wait for
	sets      *sets
	proposals ProposalNotifier
}

// New makes a service. Without spending, limits of cost and tokens count as spent.
func New(db *database.DB, log *audit.Log, spending Spending, proposals ProposalNotifier) *Service {
	return &Service{
		db:        db,
		log:       log,
		spending:  spending,
		compiler:  newCompiler(),
		loader:    newCompiler(),
		sets:      newSets(),
		proposals: proposals,
	}
}

// action is the action of an audit entry about a policy.
type action string

const (
	created     action = "policy.created"
	updated     action = "policy.updated"
	activated   action = "policy.activated"
	deactivated action = "policy.deactivated"
	rolledBack  action = "policy.rolled_back"
	deleted     action = "policy.deleted"
	bound       action = "policy.bound"

	shadowStarted action = "policy.shadow_started"
	shadowEnded   action = "policy.shadow_ended"
)

// recorded is the payload of an audit entry about a policy: which text, by its hash, and to whom it applies.
type recorded struct {
	Name          string            `json:"name"`
	Version       int               `json:"version"`
	ActiveVersion int               `json:"activeVersion"`
	Digest        string            `json:"digest,omitzero"`
	Rules         int               `json:"rules,omitzero"`
	RestoredFrom  int               `json:"restoredFrom,omitzero"`
	Bindings      *recordedBindings `json:"bindings,omitzero"`
}

type recordedBindings struct {
	Members []string `json:"members"`
	Clients []string `json:"clients"`
	Roles   []string `json:"roles"`
}

// about is the payload of an entry about one version of a policy.
func about(p Policy, v Version) recorded {
	return recorded{
		Name: p.Name, Version: v.Number, ActiveVersion: p.ActiveVersion,
		Digest: v.Digest, Rules: v.Rules, RestoredFrom: v.RestoredFrom,
	}
}

// record records a change of a policy. One that may change which policies are active, or whom an active one is for,
// also tells the digest of all active ones, so that what is stored can be compared with it.
func (s *Service) record(
	ctx context.Context, tx *database.Tx, actor principal.Principal, a action, p Policy, payload recorded,
) (err error) {
	active := ""
	if a == activated || a == deactivated || a == bound && p.ActiveVersion != 0 {
		if active, err = readActiveDigest(ctx, tx, p.OrgID); err != nil {
			return err
		}
	}
	_, err = s.log.Append(ctx, tx, audit.Entry{
		Log: audit.LogOf(p.OrgID), Action: string(a), Actor: actor,
		Subject: policySubject(p.ID), Payload: payload,
		// In the record, which is never erased: calls are judged by this text alone.
		Decision: audit.Decision{Policy: p.ID, Version: payload.Version, Digest: payload.Digest}, Policies: active,
	})
	return err
}

// inLog makes a change under the lock of an organization's log, so that no other change of its policies runs meanwhile.
func (s *Service) inLog(
	ctx context.Context, orgID string, do func(ctx context.Context, tx *database.Tx) error,
) error {
	return s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(orgID)}, Do: do})
}

// change is inLog for one policy of the caller's organization.
func (s *Service) change(
	ctx context.Context, p principal.Principal, id string,
	do func(ctx context.Context, tx *database.Tx, policy Policy) error,
) error {
	return s.inLog(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) error {
		policy, err := find(ctx, tx, p.OrgID, id)
		if err != nil {
			return err
		}
		return do(ctx, tx, policy)
	})
}

// requireReader admits members, and keys that draft.
func requireReader(p principal.Principal) error {
	if p.Kind == principal.Key {
		return requireDrafter(p)
	}
	return inOrganization(p, principal.ReadPolicies)
}

// requireDrafter admits members and keys that may write drafts.
func requireDrafter(p principal.Principal) error {
	if p.Kind != principal.Key {
		return inOrganization(p, principal.DraftPolicies)
	}
	if !p.HasScope(principal.DraftPolicy) || p.OrgID == "" {
		return fault.New(fault.Forbidden, "this API key may not draft policies")
	}
	return nil
}

// requireProposer admits those who may stage and propose profiles: drafters, and keys of terminals.
func requireProposer(p principal.Principal) error {
	if p.Kind == principal.Key && p.OrgID != "" && p.HasScope(principal.ProposeProfile) {
		return nil
	}
	return requireDrafter(p)
}

// requireManager admits members who may activate policies. It never admits a key.
func requireManager(p principal.Principal) error {
	if p.Kind == principal.Key {
		return fault.New(fault.Forbidden, "only a person may manage policies")
	}
	return inOrganization(p, principal.ManagePolicies)
}

func inOrganization(p principal.Principal, action principal.Action) error {
	if p.OrgID == "" {
		return fault.New(fault.Forbidden, "policies belong to an organization: say which")
	}
	return p.Require(action)
}
