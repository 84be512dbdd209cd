package decisions

import (
	"net/http"

	"writ/internal/intent"
)

// ProofHeader carries the proof that whoever makes a request holds the key of a delegation.
const ProofHeader = "X-Writ-Proof"

// HeldProof reads the proof of a request.
func HeldProof(r *http.Request, body []byte) intent.Held {
	return intent.ReadHeld(r.Header.Values(ProofHeader), r.URL.Path, body)
}
