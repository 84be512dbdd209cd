package policy

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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
	// Source is a policy that only denies; empty where the manifest lists nothing.
	Source *Source
	// Narrows reports whether it allows nothing that an earlier one, given as its
	// document, did not.
	Narrows func(earlier *document.Document) bool
	// PlanLife is how long plans of the agent live where they do not say; 0: the
	// manifest does not say either.
	PlanLife time.Duration
	// Redacted is what the log keeps of it.
	Redacted any
}

// Registered is what became of a manifest.
type Registered struct {
	PolicyID string // empty: it lists nothing, and so narrows nothing
	Version  int
	Active   bool // false: it is wider than the one before, and waits for a person
}

// manifestName is the name of the policy that stands for an agent's manifest.
func manifestName(agentID string) string { return "manifest " + agentID }

// RegisterManifest has calls of an agent judged by its manifest at once, beside
// the organization's policies. This is the one way a key makes a policy count, and
// only because such a policy denies and nothing else. A manifest wider than the
// one that counts is stored, and waits for a person to activate it.
//
// The policy is bound to the agent and to the key that registers it, so that it
// is not left by naming another agent. A key therefore registers one agent, and
// an agent is registered by one key: else a key could narrow the agents of others.
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
	err = s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(p.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) (err error) {
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
	}})
	return r, err
}

// onlyDenies refuses a document through which a key could grant something.
func onlyDenies(doc *document.Document) error {
	ok := doc.Default == verdict.Deny
	for _, rule := range doc.Rules {
		ok = ok && rule.Effect == verdict.Deny
	}
	if !ok {
		return fmt.Errorf("the policy of a manifest must deny and nothing else")
	}
	return nil
}

func (s *Service) register(
	ctx context.Context, tx *database.Tx, p principal.Principal, m Manifest, c compiled,
) (Registered, error) {
	stands, err := findByName(ctx, tx, p.OrgID, manifestName(m.AgentID))
	isNew := errors.Is(err, sql.ErrNoRows)
	if err != nil && !isNew {
		return Registered{}, err
	}
	if err := requireOwnAgent(ctx, tx, p, m, stands, isNew); err != nil {
		return Registered{}, err
	}
	if m.Source == nil {
		return Registered{PolicyID: stands.ID, Version: stands.ActiveVersion}, nil // what counts goes on counting
	}
	if isNew {
		return s.firstManifest(ctx, tx, p, m, c)
	}
	full, err := s.update(ctx, tx, p, stands, c, AnyVersion)
	if err != nil {
		return Registered{}, err
	}
	r := Registered{
		PolicyID: full.Policy.ID,
		Version:  full.Version.Number,
		Active:   full.Policy.ActiveVersion == full.Version.Number,
	}
	if r.Active {
		return r, nil
	}
	if full.Policy.ActiveVersion != 0 {
		counts, err := findVersion(ctx, tx, p.OrgID, stands.ID, full.Policy.ActiveVersion)
		if err != nil {
			return Registered{}, err
		}
		doc, err := counts.Source.Document()
		if err != nil || !m.Narrows(doc) {
			return r, nil
		}
	}
	_, err = s.activate(ctx, tx, p, full.Policy, full.Version, activated)
	r.Active = err == nil
	return r, err
}

// firstManifest makes the policy, bound and active.
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
	payload.Bindings = &recordedBindings{Members: orNone(b.Members), Clients: orNone(b.Clients), Roles: orNone(b.Roles)}
	if err := s.record(ctx, tx, p, bound, full.Policy, payload); err != nil {
		return Registered{}, err
	}
	_, err = s.activate(ctx, tx, p, full.Policy, full.Version, activated)
	return Registered{PolicyID: full.Policy.ID, Version: full.Version.Number, Active: err == nil}, err
}

// requireOwnAgent keeps a key from narrowing the agents of others, and from
// registering two agents, which would be narrowed to what both list.
func requireOwnAgent(
	ctx context.Context, r database.Reader, p principal.Principal, m Manifest, stands Policy, isNew bool,
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
		return fmt.Errorf("look for other manifests of key %s: %w", p.KeyID, err)
	case isNew:
		return nil
	}
	b, err := readBindings(ctx, r, p.OrgID, stands.ID)
	if err != nil {
		return err
	}
	for _, client := range b.Clients {
		if client == p.KeyID {
			return nil
		}
	}
	return fault.New(fault.Conflict,
		"this agent is registered by another API key: register it with that one, or have a person delete its policy %q",
		stands.Name)
}
