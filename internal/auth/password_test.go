package auth_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/internal/auth"
	"writ/internal/fault"
	"writ/internal/secret"
	"writ/internal/testenv"
)

func TestHashAndMatch(t *testing.T) {
	t.Parallel()
	p := auth.NewPasswords()
	hash, err := knownHash()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(hash, password) || !strings.HasPrefix(hash, "$argon2id$") {
		t.Errorf("hash %q, want one of argon2id", hash)
	}
	for _, c := range []struct {
		name, password, hash string
		want                 bool
	}{
		{"the password", password, hash, true},
		{"another", password + "!", hash, false},
		{"none", "", hash, false},
		{"no account", password, "", false},
		{"no account and no password", "", "", false},
	} {
		if got, err := p.Matches(t.Context(), c.password, c.hash); err != nil || got != c.want {
			t.Errorf("%s: %t, %v; want %t", c.name, got, err, c.want)
		}
	}
	if got, err := p.Matches(t.Context(), password, "not a hash"); err == nil || got {
		t.Errorf("a broken hash: %t, %v; want an error", got, err)
	}
	if p.Waiting() != 0 {
		t.Errorf("%d places in the queue were not given back", p.Waiting())
	}
}

// TestNobodyCostsTheSame keeps the hash of unknown accounts as dear as ours: the
// time an answer takes would tell them apart otherwise.
func TestNobodyCostsTheSame(t *testing.T) {
	t.Parallel()
	nobody := strings.Split(auth.Nobody, "$")
	want := fmt.Sprintf("m=%d,t=%d,p=%d", auth.Argon.Memory, auth.Argon.Iterations, auth.Argon.Threads)
	if len(nobody) != 6 || nobody[3] != want {
		t.Fatalf("nobody costs %q, an account %s", nobody, want)
	}
	if got, err := secret.PasswordMatches(password, auth.Nobody); err != nil || got {
		t.Fatalf("the hash of nobody: %t, %v", got, err)
	}
	hash, err := knownHash()
	if err != nil {
		t.Fatal(err)
	}
	ours := strings.Split(hash, "$")
	if !slices.Equal(ours[:4], nobody[:4]) || len(ours[4]) != len(nobody[4]) || len(ours[5]) != len(nobody[5]) {
		t.Errorf("a new hash has %q, that of nobody %q", ours, nobody)
	}
}

func TestFullQueue(t *testing.T) {
	t.Parallel()
	p := auth.NewPasswords()
	free := p.FillQueue()
	_, hashing := p.Hash(t.Context(), password)
	_, matching := p.Matches(t.Context(), password, "")
	for name, err := range map[string]error{"hash": hashing, "match": matching} {
		testenv.WantFault(t, name, err, fault.Unavailable)
		if f, ok := errors.AsType[*fault.Error](err); ok && f.RetryAfter != 2*time.Second {
			t.Errorf("%s: try again after %v, want 2s", name, f.RetryAfter)
		}
	}
	free()
	if _, err := p.Matches(t.Context(), password, ""); err != nil {
		t.Errorf("when the queue is free again: %v", err)
	}
}

func TestCallerGivesUp(t *testing.T) {
	t.Parallel()
	p := auth.NewPasswords()
	free := p.FillSlots()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Hash(ctx, password)
	testenv.WantFault(t, "a caller who has gone", err, fault.Unavailable)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the cause kept for the log", err)
	}
	if p.Waiting() != 0 {
		t.Error("who gives up must give their place back")
	}
	free()
	if _, err := p.Hash(t.Context(), password); err != nil {
		t.Errorf("when a slot is free again: %v", err)
	}
}

// TestEverySignInHashes shows that no sign-in is answered without the work of
// checking a password, whatever is known of the account: while the hasher takes
// nobody, all get the same answer.
func TestEverySignInHashes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.account("verified@example.org", true)
		e.account("pending@example.org", false)
		free := e.service.Hasher().FillQueue()
		defer free()
		for _, email := range []string{"verified@example.org", "pending@example.org", "unknown@example.org"} {
			_, _, err := e.service.Login(t.Context(), email, secret.NewText("any"), auth.Device{})
			testenv.WantFault(t, email, err, fault.Unavailable)
		}
	})
}

func TestCheckPassword(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, password string
		ok             bool
	}{
		{"shortest", strings.Repeat("é", auth.MinPasswordLength), true},
		{"too short, though not in bytes", strings.Repeat("é", auth.MinPasswordLength-1), false},
		{"longest", strings.Repeat("é", auth.MaxPasswordLength), true},
		{"too long", strings.Repeat("p", auth.MaxPasswordLength+1), false},
		{"no text", strings.Repeat("\xff", auth.MinPasswordLength), false},
		{"the address", "ada@example.org", false},
		{"the address and more", "ada@example.org!", true},
	} {
		err := auth.CheckPassword("secretWord", c.password, "ada@example.org")
		if c.ok && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if f, ok := errors.AsType[*fault.Error](err); !c.ok &&
			(!ok || f.Kind != fault.Invalid || f.Details[0].Field != "secretWord") {
			t.Errorf("%s: %v, want the field named", c.name, err)
		}
	}
}
