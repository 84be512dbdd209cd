package secret

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// PasswordCost is how much work Argon2id does for one password.
type PasswordCost struct {
	Memory     uint32 // KiB
	Iterations uint32
	Threads    uint8
}

const (
	saltBytes = 16
	keyBytes  = 32
)

// errPasswordHash says no more: a hash belongs in no log.
var errPasswordHash = errors.New("secret: not a password hash of argon2id")

// HashPassword hashes a password with a random salt, in the format of Argon2's reference implementation:
//
//	$argon2id$v=19$m=19456,t=2,p=1$salt$key
func HashPassword(password string, cost PasswordCost) string {
	h := passwordHash{cost: cost, salt: make([]byte, saltBytes)}
	rand.Read(h.salt)
	h.key = h.derive(password, keyBytes)
	return h.String()
}

// PasswordMatches reports whether a password has the hash.
func PasswordMatches(password, hash string) (bool, error) {
	h, err := parsePasswordHash(hash)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(h.derive(password, uint32(len(h.key))), h.key) == 1, nil
}

type passwordHash struct {
	cost      PasswordCost
	salt, key []byte
}

// parsePasswordHash accepts only what HashPassword could have written.
func parsePasswordHash(hash string) (h passwordHash, err error) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 {
		return h, errPasswordHash
	}
	_, scanned := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.cost.Memory, &h.cost.Iterations, &h.cost.Threads)
	h.salt, err = base64.RawStdEncoding.DecodeString(parts[4])
	if err == nil {
		h.key, err = base64.RawStdEncoding.DecodeString(parts[5])
	}
	if err != nil || scanned != nil || h.cost.Iterations < 1 || h.cost.Threads < 1 || len(h.key) == 0 ||
		h.String() != hash {
		return h, errPasswordHash
	}
	return h, nil
}

func (h passwordHash) derive(password string, size uint32) []byte {
	return argon2.IDKey([]byte(password), h.salt, h.cost.Iterations, h.cost.Memory, h.cost.Threads, size)
}

func (h passwordHash) String() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.cost.Memory, h.cost.Iterations,
		h.cost.Threads, base64.RawStdEncoding.EncodeToString(h.salt), base64.RawStdEncoding.EncodeToString(h.key))
}
