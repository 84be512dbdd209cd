package message

import (
	"crypto/sha256"
	"encoding/hex"

	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/intent"
	"writ/internal/intent/plan"
)

// ProxyEnvelope is the part of a plan that a call is limited to, as a published SDK shows it.
type ProxyEnvelope struct {
	Path       string         `json:"path"`
	Root       string         `json:"root,omitempty"`
	ParentRoot string         `json:"parentRoot,omitempty"`
	Proof      []plan.Sibling `json:"proof,omitempty" nullable:"false"`
}

// ProxyHeld is the proof that the caller holds a delegation, with the request that it must be about.
type ProxyHeld struct {
	Proofs []string `json:"proofs" nullable:"false" doc:"As they were sent: more than one prove nothing."`
	Path   string   `json:"path" doc:"Of the request."`
	Body   string   `json:"body" doc:"SHA-256 of the request's body, in hex."`
}

// Bounds of what a call says of its delegation.
const (
	maxSaid     = 8 << 10 // bytes of a text
	maxSiblings = 64
	maxProofs   = 2 // one is read, and two say that it cannot be
)

// delegationOf says how a call is limited.
func (c *ProxyCall) delegationOf(r *enforcement.Request) {
	if e := r.Envelope; e != nil {
		c.Envelope = &ProxyEnvelope{Path: e.Path, Root: e.Root, ParentRoot: e.ParentRoot, Proof: e.Proof}
	}
	if r.Held == nil {
		return
	}
	proofs := r.HeldAs
	switch {
	case len(proofs) == 0:
		proofs = []string{""} // one that proves nothing, which is not the same as none
	case len(proofs) > maxProofs:
		proofs = proofs[:maxProofs]
	}
	c.Held = &ProxyHeld{Proofs: proofs, Path: r.Sent.Path, Body: hex.EncodeToString(r.Sent.Body[:])}
}

// CheckDelegation refuses what is longer than any delegation, or cannot be read.
func (c *ProxyCall) CheckDelegation() error {
	if e := c.Envelope; e != nil {
		if len(e.Path)+len(e.Root)+len(e.ParentRoot) > maxSaid || len(e.Proof) > maxSiblings {
			return fault.Field("envelope", "must be at most %d bytes, with a proof of %d", maxSaid, maxSiblings)
		}
		if e.Path == "" {
			return fault.Field("envelope", "must have the path of the part")
		}
	}
	h := c.Held
	if h == nil {
		return nil
	}
	if len(h.Proofs) == 0 || len(h.Proofs) > maxProofs {
		return fault.Field("held", "must have 1 or %d proofs", maxProofs)
	}
	size := len(h.Path)
	for _, proof := range h.Proofs {
		size += len(proof)
	}
	if size > 2*maxSaid {
		return fault.Field("held", "must be at most %d bytes", 2*maxSaid)
	}
	if sum, err := hex.DecodeString(h.Body); err != nil || len(sum) != sha256.Size {
		return fault.Field("held", "body must be a SHA-256, in hex")
	}
	return nil
}

// limit limits the request as the call says. One that CheckDelegation refuses proves nothing.
func (c *ProxyCall) limit(r *enforcement.Request) {
	if e := c.Envelope; e != nil {
		r.Envelope = &plan.Envelope{Path: e.Path, Root: e.Root, ParentRoot: e.ParentRoot, Proof: e.Proof}
	}
	if c.Held == nil {
		return
	}
	held := intent.ReadHeld(append([]string{}, c.Held.Proofs...), c.Held.Path, nil)
	r.Held, r.Sent, r.HeldAs = held.Proof, held.Sent, c.Held.Proofs
	r.Sent.Body = [sha256.Size]byte{}
	if sum, err := hex.DecodeString(c.Held.Body); err == nil && len(sum) == sha256.Size {
		copy(r.Sent.Body[:], sum)
	}
}
