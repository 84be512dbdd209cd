package trust

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"time"
)

// ProofLife is how long a proof of possession counts. Used ones are known as long.
const ProofLife = 2 * time.Minute

const (
	maxProof = 4096 // bytes
	maxNonce = 128
)

// Proof proves that a request was made by whoever holds the key of a delegation: it signs the request. The server takes
// each proof once.
type Proof struct {
	Nonce      string `json:"jti"`        // new for every request
	Delegation string `json:"delegation"` // its id
	Token      string `json:"ath"`        // SHA-256 of its token, in hex
	Path       string `json:"path"`       // of the request
	Body       string `json:"body"`       // SHA-256 of the request's body, in hex
	Issued     int64  `json:"iat"`

	part unsigned
}

// Request is what a proof is about, as the server got it.
type Request struct {
	Path string
	Body [sha256.Size]byte
}

// RequestOf is a request with a path and a body.
func RequestOf(path string, body []byte) Request { return Request{path, sha256.Sum256(body)} }

// Prove makes the proof of a request, for whoever holds the key.
func Prove(delegationID, token string, r Request, now time.Time, key ed25519.PrivateKey) (string, error) {
	return sign(kindProof, "", Proof{
		Nonce:      rand.Text(),
		Delegation: delegationID,
		Token:      HashOf(token),
		Path:       r.Path,
		Body:       hex.EncodeToString(r.Body[:]),
		Issued:     now.Unix(),
	}, key)
}

// ReadProof reads a proof. It verifies nothing: Check does.
func ReadProof(text string) (*Proof, error) {
	if len(text) > maxProof {
		return nil, errors.New("the proof is too long")
	}
	u, err := read(text, kindProof)
	p := &Proof{part: u}
	if err == nil {
		err = u.claims(p)
	}
	if err != nil || p.Nonce == "" || len(p.Nonce) > maxNonce {
		return nil, errors.New("the proof cannot be read")
	}
	return p, nil
}

// Check checks that the proof is of this request, by the holder of a delegation's key, and current.
func (p *Proof) Check(delegate string, delegationID string, token [sha256.Size]byte, r Request, now time.Time) error {
	key, ok := PublicKey(delegate)
	issued := time.Unix(p.Issued, 0)
	switch {
	case !ok || !same(p.Delegation, delegationID):
		return errors.New("the proof is of another delegation")
	case !same(p.Token, hex.EncodeToString(token[:])):
		return errors.New("the proof is of another token")
	case !same(p.Path, r.Path) || !same(p.Body, hex.EncodeToString(r.Body[:])):
		return errors.New("the proof is of another request")
	case issued.After(now.Add(ClockSkew)) || now.Sub(issued) > ProofLife-ClockSkew:
		return errors.New("the proof is not current: compare the clock of this machine with the server's")
	case !p.part.verify(key):
		return errors.New("the proof is not signed with the key of the delegation")
	}
	return nil
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
