package intent

import (
	"errors"

	"writ/internal/intent/trust"
)

// Held is the proof that a request was made by the holder of a delegation, and the request that it must be about.
type Held struct {
	Proof *trust.Proof // nil: none was sent
	Sent  trust.Request
}

var errTwoProofs = errors.New("the request has more than one proof: send X-Writ-Proof once")

// ReadHeld reads a proof as it was sent. One that cannot be read, or is there twice, proves nothing.
func ReadHeld(sent []string, path string, body []byte) Held {
	if len(sent) == 0 {
		return Held{}
	}
	proof, err := trust.ReadProof(sent[0])
	if len(sent) > 1 {
		err = errTwoProofs
	}
	if err != nil {
		proof = trust.Unreadable(err)
	}
	return Held{proof, trust.RequestOf(path, body)}
}
