package apikey

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/principal"
)

// listName binds cursors to this list.
const listName = "api_key"

// Service issues, shows, ends and resolves keys. Make one a process: what it
// remembers is shared by all requests.
type Service struct {
	db     *database.DB
	log    *audit.Log
	logger *slog.Logger
	cache  *cache
	used   lastUsed
}

// New makes a service. It starts nothing: the app calls FlushLastUsed.
func New(db *database.DB, log *audit.Log, logger *slog.Logger) *Service {
	return &Service{db: db, log: log, logger: logger, cache: newCache()}
}

// Create issues the key a person asks for: bound to none, which anyone may, or
// to the organization the call acts in.
func (s *Service) Create(ctx context.Context, p principal.Principal, n NewKey) (Issued, error) {
	if p.Kind != principal.User {
		return Issued{}, fault.New(fault.Forbidden, "only a person may create API keys")
	}
	if err := requireOwnKeys(p, n.OrgID); err != nil {
		return Issued{}, err
	}
	return s.issue(ctx, p, n, principal.RequestableScopes(), created)
}

// Provision issues a key for one product after a sign-in from a terminal, to
// the person or to the terminal's key within its own organization. Scopes may
// be fewer than the default, not others.
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

// IssueCLI issues the key of a terminal in an organization its owner has
// switched to. The edge has checked that p.UserID is a member of it.
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
	scopes := append(principal.DefaultScopes(), principal.CLI)
	n := NewKey{Name: name, OrgID: orgID, Environment: Environment(p.Environment), Scopes: scopes}
	return s.issue(ctx, p, n, everyScope(), created)
}

func (s *Service) issue(
	ctx context.Context, p principal.Principal, n NewKey, allowed []principal.Scope, a action,
) (issued Issued, err error) {
	if p.Kind == principal.Key && p.ExpiresAt != nil && (n.ExpiresAt == nil || n.ExpiresAt.After(*p.ExpiresAt)) {
		n.ExpiresAt = p.ExpiresAt // what a key makes does not outlive it
	}
	if n.Limited = p.LimitedTo != ""; n.Limited && n.OrgID != p.LimitedTo {
		return Issued{}, fault.New(fault.Forbidden, "you signed in for another organization only")
	}
	// Checked before the queue: a change that fails costs those beside it.
	if n, err = n.checked(s.db.Now(), allowed); err != nil {
		return Issued{}, err
	}
	err = s.db.Write(ctx, database.Change{Logs: []string{audit.LogOf(n.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) (err error) {
		if err := stillHolds(ctx, tx, p); err != nil {
			return err
		}
		issued, err = s.add(ctx, tx, p, p.UserID, n, a)
		return err
	}})
	if err != nil {
		return Issued{}, err
	}
	return issued, nil
}

// OrgOf is the organization of a key, empty where it is bound to none. It asks
// nobody's leave: the edge needs it to find the caller's role there, and must
// answer a caller without one as if the key did not exist.
func (s *Service) OrgOf(ctx context.Context, id string) (orgID string, err error) {
	return findOrg(ctx, s.db, id)
}

// List shows the keys the caller may see, newest first: in an organization all
// of them to a person who manages keys, else the caller's own; without an
// organization a person's own everywhere. The limit is page.DefaultLimit when
// it is not positive, and page.MaxLimit at most.
func (s *Service) List(ctx context.Context, p principal.Principal, cursor string, limit int) (page.Page[Key], error) {
	if err := requireManager(p); err != nil {
		return page.Page[Key]{}, err
	}
	f := filter{orgID: p.OrgID, ownerID: p.UserID, anywhere: p.OrgID == "" && p.Kind == principal.User}
	if managesKeys(p) {
		f.ownerID = ""
	}
	after, err := page.Decode(cursor, listName, f.scope())
	if err != nil {
		return page.Page[Key]{}, err
	}
	if limit <= 0 {
		limit = page.DefaultLimit
	}
	limit = min(limit, page.MaxLimit)
	keys, err := selectKeys(ctx, s.db, f, after, limit+1)
	if err != nil {
		return page.Page[Key]{}, err
	}
	return page.Of(keys, limit, func(k Key) page.Cursor {
		return page.Cursor{List: listName, Scope: f.scope(), Micros: database.Micros(k.CreatedAt), ID: k.ID}
	}), nil
}

// Revoke ends a key the caller may see. Revoking it again changes nothing. A
// key that would revoke itself is refused, because published clients prune
// keys without knowing which of them is their own.
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

// RevokeOwn ends the key of the caller: how a terminal signs out that has no more
// than its key, and says that it means that one.
func (s *Service) RevokeOwn(ctx context.Context, p principal.Principal, id string) error {
	if err := requireManager(p); err != nil {
		return err
	}
	if p.Kind != principal.Key || p.KeyID != id {
		return fault.Field("own", "must not be given for another key than the one you are calling with")
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
	// Also after an error: a commit may have taken effect without our knowing.
	s.cache.empty()
	return err
}

// Rotate replaces an active key by a new one with the same settings, owned by
// the person who asks. A terminal's key is only rotated by its owner: nobody
// else has signed in from that terminal.
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
	if err != nil {
		return Issued{}, err
	}
	return issued, nil
}

// requireManager admits those who have to do with keys at all: persons, and
// terminals that have signed in.
func requireManager(p principal.Principal) error {
	switch {
	case p.Kind == principal.User && p.OrgID != "":
		return p.Require(principal.ReadOrganization) // every member may; nobody else
	case p.Kind == principal.User, p.HasScope(principal.CLI):
		return nil
	}
	return fault.New(fault.Forbidden,
		"API keys are managed by a person, or by a key from signing in with a terminal (scope cli)")
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
		return nil // its scope was checked; the role of its owner was not stated
	}
	return p.Require(principal.OwnKeys)
}

// managesKeys reports whether the caller sees other people's keys. A key never
// does, whatever its owner's role.
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
	if old.OwnerID != p.UserID && slices.Contains(old.Scopes, principal.CLI) {
		return Issued{}, fault.New(fault.Conflict,
			"the key of a terminal can be rotated by its owner only: revoke it instead")
	}
	if _, err := markRevoked(ctx, tx, old.ID); err != nil {
		return Issued{}, err
	}
	issued, err := store(ctx, tx, p.UserID, NewKey{
		Name: old.Name, OrgID: old.OrgID, Environment: old.Environment,
		Product: old.Product, Scopes: old.Scopes, ExpiresAt: old.ExpiresAt,
		Limited: old.Limited || p.LimitedTo != "", // else rotating would lift a limit
	})
	if err != nil {
		return Issued{}, err
	}
	if err := s.record(ctx, tx, p, rotated, old, &issued.Key); err != nil {
		return Issued{}, err
	}
	return issued, nil
}
