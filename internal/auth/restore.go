package auth

import (
	"context"
	"database/sql"
	"maps"
	"slices"

	"writ/internal/audit"
	"writ/internal/auth/secondfactor"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// ReplacedAccount is what proved who a person is in a database that a backup replaces.
type ReplacedAccount struct {
	id, email, hash string
	verifiedAt      sql.NullInt64
	terminalsSince  int64
	deleted         bool
	identities      []string // ids, sorted
	factor          secondfactor.Stored
}

// ReadAccounts reads the accounts of an SQLite database that a backup replaces.
func ReadAccounts(ctx context.Context, r database.Reader) ([]ReplacedAccount, error) {
	for table, columns := range map[string][]string{
		"user_account":      {"terminals_since", "deleted_at"},
		"external_identity": {"id", "user_id"},
		"second_factor":     {"org_id", "failing_since"},
		"recovery_code":     {"used_at"},
	} {
		if _, err := database.ReplacedHas(ctx, r, table, columns...); err != nil {
			return nil, err
		}
	}
	return readAccounts(ctx, r)
}

func readAccounts(ctx context.Context, r database.Reader) ([]ReplacedAccount, error) {
	all, err := database.Collect(ctx, r, func(s database.Scanner) (a ReplacedAccount, err error) {
		err = s.Scan(&a.id, &a.email, &a.hash, &a.verifiedAt, &a.terminalsSince, database.ToBool(&a.deleted))
		return a, err
	}, `
		SELECT id, email, password_hash, verified_at, terminals_since, CASE WHEN deleted_at IS NULL THEN 0 ELSE 1 END
		FROM user_account
		ORDER BY id`)
	if err != nil {
		return nil, database.Wrap(err, "read the accounts")
	}
	identities := map[string][]string{}
	_, err = database.Collect(ctx, r, func(s database.Scanner) (none struct{}, err error) {
		var id, userID string
		err = s.Scan(&id, &userID)
		identities[userID] = append(identities[userID], id)
		return none, err
	}, `SELECT id, user_id FROM external_identity ORDER BY id`)
	if err != nil {
		return nil, database.Wrap(err, "read the identities")
	}
	factors, err := secondfactor.ReadAll(ctx, r)
	for i := range all {
		all[i].identities, all[i].factor = identities[all[i].id], factors[all[i].id]
	}
	return all, err
}

// Carried counts what a restore took over from the replaced database.
type Carried struct{ Accounts, Deleted int }

// carrying takes what proves who people are from a replaced database into a restored one.
type carrying struct {
	tx  *database.Tx
	log *audit.Log
}

// CarryAccounts lets nobody into a restored account who could not get into it before the restore: by a password, an
// address, a second factor or an identity that was changed or taken away since the backup. Accounts that were deleted
// since are deleted again; deleted is called for each.
func CarryAccounts(
	ctx context.Context, tx *database.Tx, log *audit.Log, before []ReplacedAccount,
	deleted func(ctx context.Context, tx *database.Tx, userID, address string) error,
) (done Carried, err error) {
	if len(before) == 0 {
		return done, nil
	}
	restored, err := readAccounts(ctx, tx)
	if err != nil {
		return done, err
	}
	here := map[string]ReplacedAccount{}
	for _, a := range restored {
		here[a.id] = a
	}
	before = slices.DeleteFunc(slices.Clone(before), func(a ReplacedAccount) bool { return here[a.id].id == "" })
	c := carrying{tx, log}
	if err := c.freeAddresses(ctx, before, here); err != nil {
		return done, err
	}
	for _, a := range before {
		switch was := here[a.id]; {
		case a.deleted && !was.deleted:
			done.Deleted++
			err = c.delete(ctx, was, deleted)
		case !a.deleted && !was.deleted && !a.same(was):
			done.Accounts++
			err = c.carry(ctx, a, was)
		}
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

func (a ReplacedAccount) same(was ReplacedAccount) bool {
	return a.email == was.email && a.hash == was.hash && a.terminalsSince <= was.terminalsSince &&
		len(a.lost(was)) == 0 && a.factor.Equal(was.factor)
}

// lost are the identities that the account had in the backup and has no more.
func (a ReplacedAccount) lost(was ReplacedAccount) []string {
	return slices.DeleteFunc(slices.Clone(was.identities), func(id string) bool {
		return slices.Contains(a.identities, id)
	})
}

// freeAddresses takes the addresses from the accounts that get another one, because people may have exchanged theirs.
func (c carrying) freeAddresses(ctx context.Context, before []ReplacedAccount, here map[string]ReplacedAccount) error {
	for _, a := range before {
		if here[a.id].email == a.email || here[a.id].deleted {
			continue
		}
		_, err := c.tx.Exec(ctx, `UPDATE user_account SET email = $2 WHERE id = $1`, a.id, "moving:"+a.id)
		if err != nil {
			return database.Wrap(err, "free the address of %s", a.id)
		}
	}
	return nil
}

func (c carrying) delete(
	ctx context.Context, was ReplacedAccount,
	deleted func(ctx context.Context, tx *database.Tx, userID, address string) error,
) error {
	if err := Erase(ctx, c.tx, was.id); err != nil {
		return err
	}
	if err := deleted(ctx, c.tx, was.id, was.email); err != nil {
		return err
	}
	return c.record(ctx, "user.deleted", was.id)
}

func (c carrying) carry(ctx context.Context, a, was ReplacedAccount) error {
	verified := was.verifiedAt
	if a.email != was.email {
		verified = a.verifiedAt
	}
	_, err := c.tx.Exec(ctx, `
		UPDATE user_account
		SET email = $2, password_hash = $3, verified_at = $4, terminals_since = $5
		WHERE id = $1`, a.id, a.email, a.hash, verified, max(a.terminalsSince, was.terminalsSince))
	if database.IsUnique(err) {
		return fault.Wrap(err, fault.Conflict, "account %s got the address %s since the backup, which another account has there: "+
			"move the present database away to restore without comparing", a.id, a.email)
	}
	if err != nil {
		return database.Wrap(err, "carry over the account %s", a.id)
	}
	for _, id := range a.lost(was) {
		if _, err := c.tx.Exec(ctx, `DELETE FROM external_identity WHERE id = $1`, id); err != nil {
			return database.Wrap(err, "unlink an identity of %s", a.id)
		}
	}
	if !a.factor.Equal(was.factor) {
		if err := secondfactor.Replace(ctx, c.tx, a.id, a.factor); err != nil {
			return err
		}
	}
	return c.recordCarried(ctx, a, was)
}

// recordCarried records each change as the one that it brings back.
func (c carrying) recordCarried(ctx context.Context, a, was ReplacedAccount) error {
	changed := map[string]bool{
		"password.changed":      a.hash != was.hash,
		"email.changed":         a.email != was.email,
		"identity.unlinked":     len(a.lost(was)) > 0,
		"second_factor.added":   a.factor.Confirmed() && !a.factor.SameSecret(was.factor),
		"second_factor.removed": was.factor.Confirmed() && !a.factor.Confirmed(),
	}
	for _, action := range slices.Sorted(maps.Keys(changed)) {
		if !changed[action] {
			continue
		}
		if err := c.record(ctx, action, a.id); err != nil {
			return err
		}
	}
	return nil
}

func (c carrying) record(ctx context.Context, action, userID string) error {
	_, err := c.log.Append(ctx, c.tx, userEntry(action, principal.Operator(), userID, map[string]any{"restored": true}))
	return err
}
