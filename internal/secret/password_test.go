package secret_test

import (
	"strings"
	"testing"

	"writ/internal/secret"
)

var cheap = secret.PasswordCost{Memory: 64, Iterations: 1, Threads: 1}

func TestPasswordHash(t *testing.T) {
	t.Parallel()
	hash, again := secret.HashPassword("correct horse", cheap), secret.HashPassword("correct horse", cheap)
	if hash == again {
		t.Error("two hashes of one password are equal: the salt is not random")
	}
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=64,t=1,p=1$") || strings.Contains(hash, "horse") {
		t.Errorf("hash %q", hash)
	}
	for password, want := range map[string]bool{"correct horse": true, "correct horse ": false, "": false} {
		if got, err := secret.PasswordMatches(password, hash); err != nil || got != want {
			t.Errorf("%q: %t, %v; want %t", password, got, err, want)
		}
	}
}

// TestPasswordHashesOfOthers reads hashes that other programs wrote: github.com/alexedwards/argon2id, which earlier
// versions used, and the examples of Argon2's reference implementation.
func TestPasswordHashesOfOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ password, hash string }{
		{"correct horse battery staple", "$argon2id$v=19$m=19456,t=2,p=1$X+DIl9uGcvrat58O2PdHzA$Kkj9bx6ObdkG58yzLd/Q6kzYnUn3S9Fs2BqySry917M"},
		{"correct horse battery staple", "$argon2id$v=19$m=8,t=1,p=1$fl36YFs/MEzEXkUdboGrNg$Th5ZkpeMFXNDCUfYWJvgYZOsFeDLlV8F5gL98NakR4I"},

		{"password", "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"},
		{"password", "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"},
	} {
		for password, want := range map[string]bool{c.password: true, c.password + "!": false} {
			if got, err := secret.PasswordMatches(password, c.hash); err != nil || got != want {
				t.Errorf("%q with %s: %t, %v; want %t", password, c.hash, got, err, want)
			}
		}
	}
}

func TestBrokenPasswordHashes(t *testing.T) {
	t.Parallel()
	const salt, key = "c29tZXNhbHRzb21lc2FsdA", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	for _, hash := range []string{
		"",
		"not a hash",
		"$argon2i$v=19$m=64,t=1,p=1$" + salt + "$" + key,
		"$argon2id$v=16$m=64,t=1,p=1$" + salt + "$" + key,
		"$argon2id$v=19$m=64,t=0,p=1$" + salt + "$" + key,
		"$argon2id$v=19$m=64,t=1,p=0$" + salt + "$" + key,
		"$argon2id$v=19$m=64,t=1,p=257$" + salt + "$" + key,
		"$argon2id$v=19$m=64,t=1,p=1,x=2$" + salt + "$" + key,
		"$argon2id$v=19$m=64,t=1$" + salt + "$" + key,
		"$argon2id$v=19$m=64,t=1,p=1$" + salt + "$",
		"$argon2id$v=19$m=64,t=1,p=1$" + salt + "$" + key[:42] + "B", // bits behind the last byte
		"$argon2id$v=19$m=64,t=1,p=1$" + salt + "=$" + key,
		"x$argon2id$v=19$m=64,t=1,p=1$" + salt + "$" + key,
	} {
		got, err := secret.PasswordMatches("", hash)
		if err == nil || got {
			t.Errorf("%q: %t, %v; want an error", hash, got, err)
		} else if hash != "" && strings.Contains(err.Error(), salt) {
			t.Errorf("%q: the error quotes it: %v", hash, err)
		}
	}
}
