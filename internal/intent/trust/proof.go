package trust

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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

	part    unsigned
	problem error // why it cannot be read; nil: it can
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

// Errors of proofs that cannot be read. Whoever made one has only these words to mend it by.
var (
	errLongProof = fmt.Errorf("the proof cannot be read: it is longer than %d bytes", maxProof)
	errProofForm = errors.New("the proof cannot be read: it must be a JWS, three parts in base64url without padding")
	errProofHead = errors.New("the proof cannot be read: its header must be " + proofHead +
		", with kid or without")
	errClaims = fmt.Errorf("the proof cannot be read: it must be of an object with jti (1 to %d bytes), delegation, "+
		"ath, path, body, and iat in seconds", maxNonce)
)

// ReadProof reads a proof. It verifies nothing: Check does.
func ReadProof(text string) (*Proof, error) {
	if len(text) > maxProof {
		return nil, errLongProof
	}
	u, header, err := takeApart(text)
	if err != nil {
		return nil, errProofForm
	}
	if !isProofHeader(header) {
		return nil, errProofHead
	}
	p := &Proof{part: u}
	if err := json.Unmarshal(u.body, p); err != nil || p.Nonce == "" || len(p.Nonce) > maxNonce {
		return nil, errClaims
	}
	return p, nil
}

var proofHead = headOf(kindProof, "")

// isProofHeader reports whether a header is that of a proof. Unlike the parts of tokens, which the server signs, proofs
// are made by many libraries: the order of its members and the space between them are theirs. The id of a key counts
// for nothing, because the delegation says which key it is.
func isProofHeader(header []byte) bool {
	if string(header) == proofHead { // as ours write it
		return true
	}
	var head struct {
		Algorithm string         `json:"alg"`
		Kind      string         `json:"typ"`
		KeyID     jsontext.Value `json:"kid"`
	}
	err := json.Unmarshal(header, &head, json.RejectUnknownMembers(true), jsontext.AllowDuplicateNames(false))
	return err == nil && head.Algorithm == algorithm && head.Kind == kindProof &&
		(head.KeyID == nil || head.KeyID.Kind() == '"')
}

// Unreadable is a proof that proves nothing, for this reason.
func Unreadable(problem error) *Proof { return &Proof{problem: problem} }

// Check checks that the proof is of this request, by the holder of a delegation's key, and current.
func (p *Proof) Check(delegate string, delegationID string, token [sha256.Size]byte, r Request, now time.Time) error {
	key, ok := PublicKey(delegate)
	issued := time.Unix(p.Issued, 0)
	switch {
	case p.problem != nil:
		return p.problem
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
