package intent

import "writ/internal/intent/trust"

// Held is the proof that a request was made by the holder of a delegation, and the request that it must be about.
type Held struct {
	Proof *trust.Proof // nil: none was sent
	Sent  trust.Request
}

// ReadHeld reads a proof as it was sent. One that cannot be read, or is there twice, proves nothing.
func ReadHeld(sent []string, path string, body []byte) Held {
	if len(sent) == 0 {
		return Held{}
	}
	h := Held{&trust.Proof{}, trust.RequestOf(path, body)}
	if proof, err := trust.ReadProof(sent[0]); err == nil && len(sent) == 1 {
		h.Proof = proof
	}
	return h
}
