package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
)

// MasterKeySize is the length of the master key in bytes.
const MasterKeySize = 32

// ErrSealBroken says that sealed bytes were altered, were sealed for another purpose, or under another master key.
var ErrSealBroken = errors.New("secret: cannot be opened with this master key")

// Sealer encrypts what is stored and must be used again. The context of a seal (say "signing-key/7f3…") is
// authenticated with it, so that a sealed value cannot be opened after it was moved to another row.
type Sealer struct{ aead cipher.AEAD }

// NewSealer makes a sealer from the master key.
func NewSealer(masterKey []byte) (*Sealer, error) {
	if len(masterKey) != MasterKeySize {
		return nil, fmt.Errorf("master key: want %d bytes, got %d", MasterKeySize, len(masterKey))
	}
	// The master key itself is never used directly, so that other purposes can derive other keys from it later.
	key, err := hkdf.Key(sha256.New, masterKey, nil, "writ/seal/v1", 32)
	if err != nil {
		return nil, fmt.Errorf("derive sealing key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("sealing cipher: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("sealing mode: %w", err)
	}
	return &Sealer{aead: aead}, nil
}

// Seal encrypts plain for a context.
func (s *Sealer) Seal(context string, plain []byte) []byte {
	return s.aead.Seal(nil, nil, plain, []byte(context))
}

// Open decrypts what Seal made for the same context.
func (s *Sealer) Open(context string, sealed []byte) ([]byte, error) {
	plain, err := s.aead.Open(nil, nil, sealed, []byte(context))
	if err != nil {
		return nil, ErrSealBroken
	}
	return plain, nil
}

// NewMasterKey makes a random master key in the form ParseMasterKey reads.
func NewMasterKey() Text {
	var b [MasterKeySize]byte
	rand.Read(b[:])
	return NewText(base64.StdEncoding.EncodeToString(b[:]))
}

// ParseMasterKey reads a master key: 32 bytes as base64 or as hex.
func ParseMasterKey(text string) ([]byte, error) {
	if b, err := hex.DecodeString(text); err == nil && len(b) == MasterKeySize {
		return b, nil
	}
	if b, err := base64.StdEncoding.DecodeString(text); err == nil && len(b) == MasterKeySize {
		return b, nil
	}
	return nil, errors.New("must be 32 bytes as base64 or as 64 hex digits")
}
