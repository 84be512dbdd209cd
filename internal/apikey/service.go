package apikey

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
)

// Service issues, lists, revokes and resolves keys. Make one per process: all requests
// share its cache.
type Service struct {
	db     *database.DB
	log    *audit.Log
	logger *slog.Logger
	cache  *cache
	used   lastUsed
	// replaced has what belongs to a key belong to the one that replaces it, within that change.
	replaced Replaced
}

// Replaced takes over what belongs to a key that another one replaces.
type Replaced func(ctx context.Context, tx *database.Tx, from, to string) error

// New makes a Service. It starts nothing: the app calls FlushLastUsed.
func New(db *database.DB, log *audit.Log, logger *slog.Logger, replaced Replaced) *Service {
	return &Service{
		db:       db,
		log:      log,
		logger:   logger,
		cache:    newCache(),
		replaced: replaced,
	}
}

// Create issues the key a person asks for, bound to no organization or to the one the
// call acts in.
func (s *Service) Create(ctx context.Context, p principal.Principal, n NewKey) (Issued, error) {
	if p.Kind != principal.User {
		return Issued{}, fault.New(fault.Forbidden, "only a person may create API keys")
	}
	if err := requireOwnKeys(p, n.OrgID); err != nil {
		return Issued{}, err
	}
	return s.issue(ctx, p, n, principal.RequestableScopes(), created)
}

// Provision issues a key for one product after a sign-in from a terminal, to the
// person or to the terminal's key within its own organization. It gives default
// scopes only.
func (s *Service) Provision(ctx context.Context, p principal.Principal, n NewKey) (Issued, error) {
	if err := requireManager(p); err != nil {
		return Issued{}, err
	}
	if err := requireOwnKeys(p, n.OrgID); err != nil {
		return Issued{}, err
	}
	if strings.TrimSpace(n.Product) == "" {
		return Issued{}, fault.Field("product", "is required")
	}
	return s.issue(ctx, p, n, principal.DefaultScopes(), provisioned)
}

// IssueCLI issues the key of a terminal in an organization that its owner switches
// to. The edge has checked that p.UserID is a member of it. A terminal that signed in before such keys could propose
// profiles gets no key that can: nobody approved that.
func (s *Service) IssueCLI(ctx context.Context, p principal.Principal, orgID, name string) (Issued, error) {
	if err := requireManager(p); err != nil {
		return Issued{}, err
	}
	if orgID == "" {
		return Issued{}, fault.Field("org", "is required")
	}
	if p.OrgID == orgID { // else p.Role is a role elsewhere
		if err := requireOwnKeys(p, orgID); err != nil {
			return Issued{}, err
		}
	}
	scopes := slices.DeleteFunc(principal.TerminalScopes(), func(scope principal.Scope) bool {
		return scope == principal.ProposeProfile && p.Kind == principal.Key && !p.HasScope(scope)
	})
	n := NewKey{Name: name, OrgID: orgID, Environment: Environment(p.Environment), Scopes: scopes}
	return s.issue(ctx, p, n, allScopes(), created)
}

func (s *Service) issue(
	ctx context.Context, p principal.Principal, n NewKey, allowed []principal.Scope, a action,
) (issued Issued, err error) {
	if p.Kind == principal.Key && p.ExpiresAt != nil && (n.ExpiresAt == nil || n.ExpiresAt.After(*p.ExpiresAt)) {
		n.ExpiresAt = p.ExpiresAt // a key does not outlive the key that made it
	}
	n.madeBy = maker(p)
	if n.Limited = p.LimitedTo != ""; n.Limited && n.OrgID != p.LimitedTo {
		return Issued{}, fault.New(fault.Forbidden, "you signed in for another organization only")
	}
	// Checked before the write queue: a change that fails slows down those beside it.
	if n, err = n.checked(s.db.Now(), allowed); err != nil {
		return Issued{}, err
	}
	logs := []string{audit.LogOf(n.OrgID)}
	if p.Kind == principal.Key && p.OrgID != "" && p.OrgID != n.OrgID {
		logs = append(logs, audit.LogOf(p.OrgID)) // whoever stops the key either finds the new one or comes first
	}
	err = s.db.Write(ctx, database.Change{Logs: logs, Do: func(ctx context.Context, tx *database.Tx) (err error) {
		if err := requireActive(ctx, tx, p); err != nil {
			return err
		}
		if err := refuseMany(ctx, tx, p, n.OrgID); err != nil {
			return err
		}
		issued, err = s.add(ctx, tx, p, p.UserID, n, a)
		return err
	}})
	return issued, err
}

// List gives the keys the caller may see, newest first: in an organization all of
// them to a person who manages keys, otherwise the caller's own; without an
// organization a person's own everywhere.
func (s *Service) List(ctx context.Context, p principal.Principal, cursor string, limit int) (page.Page[Key], error) {
	if err := requireManager(p); err != nil {
		return page.Page[Key]{}, err
	}
	f := filter{orgID: p.OrgID, ownerID: p.UserID, anywhere: p.OrgID == "" && p.Kind == principal.User}
	if managesKeys(p) {
		f.ownerID = ""
	}
	q := page.Query{List: "api_key", Scope: f.scope(), Cursor: cursor, Limit: limit}
	return page.Read(q, func(after page.Cursor, limit int) ([]Key, error) {
		return selectKeys(ctx, s.db, f, after, limit)
	}, func(k Key) (time.Time, string) { return k.CreatedAt, k.ID })
}

// Get gives a key the caller may see.
func (s *Service) Get(ctx context.Context, p principal.Principal, id string) (Key, error) {
	if err := requireManager(p); err != nil {
		return Key{}, err
	}
	return findVisible(ctx, s.db, p, id)
}

// Revoke ends a key the caller may see. Revoking it again changes nothing. A key
// cannot revoke itself here, because published clients prune keys without knowing
// which one is their own.
func (s *Service) Revoke(ctx context.Context, p principal.Principal, id string) error {
	if err := requireManager(p); err != nil {
		return err
	}
	if p.Kind == principal.Key && p.KeyID == id {
		return fault.New(fault.Conflict,
			"this is the key you are calling with: revoke it with another one, with own=true, or in the dashboard")
	}
	return s.revoke(ctx, p, id)
}

// RevokeOwn ends the key of the caller, for a terminal that signs out.
func (s *Service) RevokeOwn(ctx context.Context, p principal.Principal, id string) error {
	if err := requireManager(p); err != nil {
		return err
	}
	if p.Kind != principal.Key || p.KeyID != id {
		return fault.Field("own", "is only for the key you are calling with")
	}
	return s.revoke(ctx, p, id)
}

func (s *Service) revoke(ctx context.Context, p principal.Principal, id string) error {
	err := s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(p.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		k, err := findVisible(ctx, tx, p, id)
		if err != nil {
			return err
		}
		changed, err := markRevoked(ctx, tx, k.ID)
		if err != nil || !changed {
			return err
		}
		return s.record(ctx, tx, p, revoked, k, nil)
	}})
	s.cache.empty() // also after an error: the commit may have taken effect
	return err
}

// Rotate replaces an active key by a new one with the same settings, owned by the
// caller. The agents that it is bound to are bound to the new one. Only its owner can rotate a terminal's
// key: nobody else signed in from that terminal.
func (s *Service) Rotate(ctx context.Context, p principal.Principal, id string) (issued Issued, err error) {
	if p.Kind != principal.User {
		return Issued{}, fault.New(fault.Forbidden, "only a person may rotate API keys")
	}
	if err := requireManager(p); err != nil {
		return Issued{}, err
	}
	err = s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(p.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		old, err := findVisible(ctx, tx, p, id)
		if err != nil {
			return err
		}
		issued, err = s.rotate(ctx, tx, p, old)
		return err
	}})
	s.cache.empty()
	return issued, err
}

// requireManager admits people and signed-in terminals; nobody else manages keys.
func requireManager(p principal.Principal) error {
	switch {
	case p.Kind == principal.User && p.OrgID != "":
		return p.Require(principal.ReadOrganization) // which every member may
	case p.Kind == principal.User, p.HasScope(principal.CLI):
		return nil
	}
	return fault.New(fault.Forbidden,
		"only a person, or a key from signing in with a terminal (scope cli), can manage API keys")
}

// requireOwnKeys refuses a caller who may not have keys in the organization.
func requireOwnKeys(p principal.Principal, orgID string) error {
	switch {
	case p.Kind == principal.User && orgID == "":
		return nil
	case orgID == "":
		return fault.New(fault.Forbidden, "a key makes keys only in an organization: switch to one first")
	case p.OrgID != orgID:
		return fault.New(fault.Forbidden, "you do not act in this organization")
	case p.Kind == principal.Key && p.Role == "":
		return nil // its scope was checked, and the edge did not state its owner's role
	}
	return p.Require(principal.OwnKeys)
}

// managesKeys reports whether the caller sees other people's keys. A key never does.
func managesKeys(p principal.Principal) bool {
	return p.Kind == principal.User && p.OrgID != "" && p.May(principal.ManageKeys)
}

// findVisible reads a key as far as the caller may see it.
func findVisible(ctx context.Context, r database.Reader, p principal.Principal, id string) (Key, error) {
	k, err := find(ctx, r, p.OrgID, id)
	if err != nil {
		return Key{}, err
	}
	if k.OwnerID != p.UserID && !managesKeys(p) {
		return Key{}, notFound()
	}
	return k, nil
}

// rotate makes the new key and revokes the old.
func (s *Service) rotate(ctx context.Context, tx *database.Tx, p principal.Principal, old Key) (Issued, error) {
	if err := requireOwnKeys(p, old.OrgID); err != nil {
		return Issued{}, err
	}
	if status := old.Status(tx.Now()); status != "active" {
		return Issued{}, fault.New(fault.Conflict, "the API key is %s: create a new one instead", status)
	}
	if old.Hidden {
		return Issued{}, fault.New(fault.Conflict,
			"this key stands for a consent and cannot be rotated: end the consent, or revoke it")
	}
	if old.OwnerID != p.UserID && slices.Contains(old.Scopes, principal.CLI) {
		return Issued{}, fault.New(fault.Conflict,
			"only its owner can rotate the key of a terminal: revoke it instead")
	}
	if err := refuseStopped(ctx, tx, old.ID); err != nil {
		return Issued{}, err
	}
	if _, err := markRevoked(ctx, tx, old.ID); err != nil {
		return Issued{}, err
	}
	issued, err := store(ctx, tx, p.UserID, NewKey{
		Name:        old.Name,
		OrgID:       old.OrgID,
		Environment: old.Environment,
		Product:     old.Product,
		Scopes:      old.Scopes,
		ExpiresAt:   old.replacementExpires(),
		Limited:     old.Limited || p.LimitedTo != "", // rotating must not lift a limit
		madeBy:      old.ID,
	})
	if err != nil {
		return Issued{}, err
	}
	if err := s.replaced(ctx, tx, old.ID, issued.ID); err != nil {
		return Issued{}, err
	}
	return issued, s.record(ctx, tx, p, rotated, old, &issued.Key)
}
