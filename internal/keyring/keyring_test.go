package keyring_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"sync"
	"testing"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
	"writ/internal/keyring"
	"writ/internal/principal"
	"writ/internal/secret"
	"writ/internal/testenv"
)

func TestReplicasAgreeOnTheFirstKey(t *testing.T) {
	t.Parallel()
	dbtest.EachOptions(t, func(t *testing.T, o database.Options) {
		var wg sync.WaitGroup
		ids := make([]string, 8)
		for i := range ids {
			db := dbtest.Open(t, o)
			ring := keyring.New(db, audit.Unsigned(db), testenv.Sealer(t, 1))
			wg.Go(func() {
				key, err := ring.Current(context.Background(), keyring.AccessToken)
				if err != nil {
					t.Errorf("Current: %v", err)
				}
				ids[i] = key.ID
			})
		}
		wg.Wait()
		for _, id := range ids {
			if id == "" || id != ids[0] {
				t.Fatalf("replicas use different keys: %v", ids)
			}
		}
	})
}

func TestRotateKeepsTheOldForVerifying(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ring := keyring.New(db, audit.Unsigned(db), testenv.Sealer(t, 1))
		old, err := ring.Current(t.Context(), keyring.AccessToken)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ring.Rotate(t.Context(), principal.Operator(), keyring.AccessToken); err != nil {
			t.Fatal(err)
		}
		// A ring without memory reads what the first one stored.
		fresh := keyring.New(db, audit.Unsigned(db), testenv.Sealer(t, 1))
		current, err := fresh.Current(t.Context(), keyring.AccessToken)
		if err != nil || current.ID == old.ID {
			t.Errorf("current after rotation = %s (%v), want another than %s", current.ID, err, old.ID)
		}
		found, err := fresh.Find(t.Context(), keyring.AccessToken, old.ID)
		if err != nil || !found.Retired() || !found.Public.Equal(old.Public) {
			t.Errorf("Find(old) = %+v, %v", found, err)
		}
		if !ed25519.Verify(found.Public, []byte("x"), ed25519.Sign(old.Private, []byte("x"))) {
			t.Error("the stored key does not verify what the first one signed")
		}
		all, err := fresh.All(t.Context(), keyring.AccessToken)
		if err != nil || len(all) != 2 || all[0].ID != current.ID {
			t.Errorf("All = %d keys, %v", len(all), err)
		}
		entries, err := audit.ReadEntries(t.Context(), db, audit.System, 0, 10)
		if err != nil || len(entries) != 2 || entries[1].Action != "signing_key.created" {
			t.Errorf("audit = %v, %v", entries, err)
		}
	})
}

func TestFindRefuses(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ring := keyring.New(db, audit.Unsigned(db), testenv.Sealer(t, 1))
		key, err := ring.Current(t.Context(), keyring.AccessToken)
		if err != nil {
			t.Fatal(err)
		}
		for name, call := range map[string]func() (keyring.Key, error){
			"another purpose": func() (keyring.Key, error) { return ring.Find(t.Context(), "plan", key.ID) },
			"unknown": func() (keyring.Key, error) {
				return ring.Find(t.Context(), keyring.AccessToken, database.NewID())
			},
			"not an id": func() (keyring.Key, error) {
				return ring.Find(t.Context(), keyring.AccessToken, "' OR 1=1\x00")
			},
		} {
			if _, err := call(); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: %v, want not found", name, err)
			}
		}
	})
}

func TestWrongMasterKey(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		if _, err := keyring.New(db, audit.Unsigned(db), testenv.Sealer(t, 1)).Current(t.Context(),
			keyring.AccessToken); err != nil {
			t.Fatal(err)
		}
		if _, err := keyring.New(db, audit.Unsigned(db), testenv.Sealer(t, 2)).Current(t.Context(),
			keyring.AccessToken); !errors.Is(err, secret.ErrSealBroken) {
			t.Errorf("err = %v, want ErrSealBroken", err)
		}
	})
}
