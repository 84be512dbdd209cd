package policy

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/policy/document"
	"writ/internal/principal"
	"writ/internal/verdict"
)

// Manifest is an agent's manifest as a key registers it.
type Manifest struct {
	AgentID string
	// Source is a policy that only denies; nil if the manifest lists nothing.
	Source *Source
	// Narrows reports whether the manifest allows nothing that an earlier one, given as its document, did not.
	Narrows func(earlier *document.Document) bool
	// PlanLife is the life of the agent's plans that do not give one; 0: not given here either.
	PlanLife time.Duration
	// Proxy is how the proxy carries out the agent's calls.
	Proxy ProxySettings
	// Redacted is the manifest as the log records it.
	Redacted any
}

// ProxySettings are what a manifest says of the calls that the proxy carries out.
type ProxySettings struct {
	// RequireProofs: each call proves its step. False counts only where a person agrees.
	RequireProofs bool
	Timeout       time.Duration // of a call
	Retries       int           // of a call that was not sent
}

// Registered is the result of registering a manifest.
type Registered struct {
	PolicyID string // empty: the manifest lists nothing, and none before it did
	Version  int    // of a manifest that lists nothing: the one in force, or 0
	Active   bool   // false: it is wider than the one before, and a person must activate it
	// Before is what was in force before; nil: nothing, or it cannot be read.
	Before *document.Document
}

// manifestName is the name of the policy of an agent's manifest.
func manifestName(agentID string) string { return "manifest " + agentID }

// RegisterManifest activates an agent's manifest as a policy beside the others. Only here does a key activate a policy,
// because this one only denies. A manifest that is wider than the active one is stored, and a person must activate it.
//
// The policy is bound to the agent and to the key, so that naming another agent does not evade it. A key therefore
// registers one agent, and an agent is registered by one key: else a key could narrow the agents of others.
func (s *Service) RegisterManifest(ctx context.Context, p principal.Principal, m Manifest) (r Registered, err error) {
	if !p.HasScope(principal.Enforce) || p.OrgID == "" {
		return Registered{}, fault.New(fault.Forbidden,
			"manifests are registered with an API key of the scope enforce, in an organization")
	}
	var c compiled
	if m.Source != nil {
		if c, err = s.compiler.read(ctx, *m.Source); err != nil {
			return Registered{}, err
		}
		if err := onlyDenies(c.doc); err != nil {
			return Registered{}, err
		}
	}
	err = s.inLog(ctx, p.OrgID, func(ctx context.Context, tx *database.Tx) (err error) {
		if err := s.requireProved(ctx, tx, p.OrgID); err != nil {
			return err
		}
		if r, err = s.register(ctx, tx, p, m, c); err != nil {
			return err
		}
		if err := storeManifest(ctx, tx, p, m); err != nil {
			return err
		}
		_, err = s.log.Append(ctx, tx, audit.Entry{
			Log:     audit.LogOf(p.OrgID),
			Action:  "manifest.registered",
			Actor:   p,
			Subject: audit.Subject{Type: "agent", ID: m.AgentID},
			Payload: m.Redacted,
		})
		return err
	})
	return r, err
}

// onlyDenies refuses a document through which a key could grant something.
func onlyDenies(doc *document.Document) error {
	allows := func(rule document.Rule) bool { return rule.Effect != verdict.Deny }
	if doc.Default != verdict.Deny || slices.ContainsFunc(doc.Rules, allows) {
		return errors.New("the policy of a manifest must deny and nothing else")
	}
	return nil
}

func (s *Service) register(
	ctx context.Context, tx *database.Tx, p principal.Principal, m Manifest, c compiled,
) (Registered, error) {
	existing, err := findByName(ctx, tx, p.OrgID, manifestName(m.AgentID))
	isNew := errors.Is(err, sql.ErrNoRows)
	if err != nil && !isNew {
		return Registered{}, err
	}
	if err := requireOwnAgent(ctx, tx, p, m, existing, isNew); err != nil {
		return Registered{}, err
	}
	if m.Source == nil {
		return Registered{PolicyID: existing.ID, Version: existing.ActiveVersion}, nil // the active one stays
	}
	if isNew {
		return s.firstManifest(ctx, tx, p, m, c)
	}
	before, err := activeDocument(ctx, tx, existing)
	if err != nil {
		return Registered{}, err
	}
	full, err := s.update(ctx, tx, p, existing, c, AnyVersion)
	if err != nil {
		return Registered{}, err
	}
	r := Registered{
		Before:   before,
		PolicyID: full.Policy.ID,
		Version:  full.Version.Number,
		Active:   full.Policy.ActiveVersion == full.Version.Number,
	}
	if r.Active {
		return r, nil
	}
	if existing.ActiveVersion != 0 && (before == nil || !m.Narrows(before)) {
		return r, nil
	}
	_, err = s.activate(ctx, tx, p, full.Policy, full.Version, activated)
	r.Active = err == nil
	return r, err
}

// activeDocument is the active version of a policy; nil if there is none, or if it
// cannot be read.
func activeDocument(ctx context.Context, tx *database.Tx, p Policy) (*document.Document, error) {
	if p.ActiveVersion == 0 {
		return nil, nil
	}
	active, err := findVersion(ctx, tx, p.OrgID, p.ID, p.ActiveVersion)
	if err != nil {
		return nil, err
	}
	doc, err := active.Source.Document()
	if err != nil {
		return nil, nil //nolint:nilerr // it counts as one that nobody knows
	}
	return doc, nil
}

// firstManifest creates the policy, binds it and activates it.
func (s *Service) firstManifest(
	ctx context.Context, tx *database.Tx, p principal.Principal, m Manifest, c compiled,
) (Registered, error) {
	full, err := s.create(ctx, tx, p, p.OrgID, c, AsDocument)
	if err != nil {
		return Registered{}, err
	}
	b, err := Bindings{Clients: []string{m.AgentID, p.KeyID}}.checked()
	if err != nil {
		return Registered{}, err
	}
	if err := replaceBindings(ctx, tx, full.Policy, b); err != nil {
		return Registered{}, err
	}
	payload := about(full.Policy, full.Version)
	payload.Bindings = (*recordedBindings)(&b)
	if err := s.record(ctx, tx, p, bound, full.Policy, payload); err != nil {
		return Registered{}, err
	}
	_, err = s.activate(ctx, tx, p, full.Policy, full.Version, activated)
	return Registered{PolicyID: full.Policy.ID, Version: full.Version.Number, Active: err == nil}, err
}

// requireOwnAgent keeps a key from narrowing the agents of others, and from
// registering two agents, which would be narrowed to what both list.
func requireOwnAgent(
	ctx context.Context, r database.Reader, p principal.Principal, m Manifest, existing Policy, isNew bool,
) error {
	var other string
	err := r.QueryRow(ctx, `
		SELECT p.name
		FROM policy_binding b
		JOIN policy p ON p.id = b.policy_id
		WHERE b.org_id = $1 AND b.kind = 'client' AND b.subject = $2 AND p.deleted_at IS NULL AND p.name LIKE 'manifest %' AND p.name <> $3
		ORDER BY p.name
		LIMIT 1`, p.OrgID, p.KeyID, manifestName(m.AgentID)).Scan(&other)
	switch {
	case err == nil:
		return fault.New(fault.Conflict, "this API key has registered another agent: use a key of its own for each")
	case !errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("find other manifests of key %s: %w", p.KeyID, err)
	case isNew:
		return nil
	}
	b, err := readBindings(ctx, r, p.OrgID, existing.ID)
	if err != nil {
		return err
	}
	if slices.Contains(b.Clients, p.KeyID) {
		return nil
	}
	return fault.New(fault.Conflict,
		"this agent is registered by another API key: register it with that one, or have a person delete its policy %q in the dashboard",
		existing.Name)
}
