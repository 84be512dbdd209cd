// Package secret makes, compares, hides and seals secrets.
//
// Random tokens come from the system's generator. A token that we must recognize later is stored only as its SHA-256:
// tokens have 256 bits of entropy, so a slow hash would add cost and no safety. Passwords are hashed with Argon2id. A
// secret that we must use again (a signing key, a client secret) is sealed with the master key. Text is the type in
// which secrets are passed around; it prints as "[redacted]" everywhere.
package secret

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"log/slog"
	"math/big"
)

const redacted = "[redacted]"

// Text is a secret string. Formatting, logging and encoding it only show that it is one. Reveal is the only way to the
// value, so a search for it finds every use. The zero value is "not set".
type Text struct{ value string }

// NewText wraps a secret.
func NewText(value string) Text { return Text{value: value} }

// Reveal returns the secret itself.
func (t Text) Reveal() string { return t.value }

// IsSet reports whether there is a secret at all.
func (t Text) IsSet() bool { return t.value != "" }

// Equal compares in time that does not depend on where the values differ. An unset secret equals nothing, not even the
// empty string.
func (t Text) Equal(presented string) bool {
	want, got := sha256.Sum256([]byte(t.value)), sha256.Sum256([]byte(presented))
	return t.IsSet() && subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

// String hides the secret from fmt.
func (t Text) String() string { return redacted }

// GoString hides the secret from %#v.
func (t Text) GoString() string { return redacted }

// LogValue hides the secret from slog.
func (t Text) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText hides the secret from every encoder.
func (t Text) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Token makes a random token: the prefix and 256 random bits as 64 hex digits.
func Token(prefix string) Text {
	var b [32]byte
	rand.Read(b[:]) // never fails: the program ends when the system has no randomness
	return NewText(prefix + hex.EncodeToString(b[:]))
}

// Digits makes a random decimal code of n digits, for people to type.
func Digits(n int) Text { return random(n, "0123456789") }

// CodeLetters are the letters of Letters.
const CodeLetters = "BCDFGHJKLMNPQRSTVWXZ"

// Letters makes a random code of n capital letters, for people to compare and type: consonants only, so that it spells
// no word and none looks like another; about 4.3 bits each.
func Letters(n int) Text { return random(n, CodeLetters) }

// Password makes a random password that is easy to copy: n characters without look-alikes, about 5.8 bits each.
func Password(n int) Text {
	return random(n, "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789")
}

func random(n int, alphabet string) Text {
	code := make([]byte, n)
	for i := range code {
		at, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
		if err != nil {
			panic("secret: the system has no randomness: " + err.Error())
		}
		code[i] = alphabet[at.Int64()]
	}
	return NewText(string(code))
}

// Hash is what is stored of a token.
func Hash(token string) []byte {
	h := sha256.Sum256([]byte(token))
	return h[:]
}

// SameHash compares two stored hashes in constant time.
func SameHash(a, b []byte) bool { return subtle.ConstantTimeCompare(a, b) == 1 }
