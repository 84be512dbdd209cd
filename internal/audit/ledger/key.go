package ledger

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// KeyName is the name under which an installation signs all its logs.
func KeyName(installation string) string { return "writ/" + installation }

// KeyText is a public key as a note verifier: name, short hash and key, in one line.
func KeyText(installation string, public ed25519.PublicKey) (string, error) {
	if !isOriginPart(installation) {
		return "", errors.New("the installation's name cannot stand in a key")
	}
	return note.NewEd25519VerifierKey(KeyName(installation), public)
}

// signer signs notes with a key that is never in text form.
type signer struct {
	note.Verifier
	key ed25519.PrivateKey
}

// Sign signs the text of a note.
func (s signer) Sign(text []byte) ([]byte, error) { return ed25519.Sign(s.key, text), nil }

// NewSigner makes the signer of an installation's checkpoints.
func NewSigner(installation string, key ed25519.PrivateKey) (note.Signer, error) {
	if len(key) != ed25519.PrivateKeySize {
		return nil, errors.New("the signing key has the wrong length")
	}
	text, err := KeyText(installation, key.Public().(ed25519.PublicKey))
	if err != nil {
		return nil, err
	}
	verifier, err := note.NewVerifier(text)
	if err != nil {
		return nil, fmt.Errorf("make the verifier of the signing key: %w", err)
	}
	return signer{verifier, key}, nil
}

// Keys are the public keys whose signatures count.
type Keys []Key

// Key is one of them.
type Key struct {
	text     string
	verifier note.Verifier
}

// String is the key as a note verifier.
func (k Key) String() string { return k.text }

// ParseKey reads a key in the form that KeyText gives, and in no other spelling.
func ParseKey(text string) (Key, error) {
	name, rest, _ := strings.Cut(text, "+")
	_, encoded, _ := strings.Cut(rest, "+")
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(raw) != 1+ed25519.PublicKeySize {
		return Key{}, errNotAKey
	}
	verifier, err := note.NewVerifier(text)
	if err != nil {
		return Key{}, errNotAKey
	}
	if again, err := note.NewEd25519VerifierKey(name, raw[1:]); err != nil || again != text {
		return Key{}, errNotAKey
	}
	return Key{text: text, verifier: verifier}, nil
}

var errNotAKey = errors.New("not a public key in the form of a note verifier (name+hash+key)")

// ParseKeys reads a key a line, without empty lines and those that begin with #. There
// must be at least one key.
func ParseKeys(text string) (Keys, error) {
	var keys Keys
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, err := ParseKey(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("there is no public key in it")
	}
	return keys, nil
}

// holds reports whether the key is among them.
func (k Keys) holds(text string) bool {
	return slices.ContainsFunc(k, func(key Key) bool { return key.text == text })
}

// verifiers gives each key once: note calls a key that is listed twice ambiguous.
func (k Keys) verifiers() []note.Verifier {
	verifiers := make([]note.Verifier, 0, len(k))
	for i, key := range k {
		if !k[:i].holds(key.text) {
			verifiers = append(verifiers, key.verifier)
		}
	}
	return verifiers
}
