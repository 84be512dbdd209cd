// Package ledger defines the form of Writ's evidence, and checks it: what an entry of
// the audit log is hashed from, how a log of any size is signed in one line, and how to
// prove that an entry is in a log and that the log only ever grew.
//
// A [Record] is canonical JSON. Its leaf is the RFC 6962 hash of exactly those bytes. The
// record commits to a payload by a salted hash, so that the payload can be erased while
// the proof holds. A [Checkpoint] names a log, its epoch, its size and the root of its
// tree, in the C2SP tlog-checkpoint form, signed as a note. A [Receipt] is a leaf, its
// inclusion proof and the checkpoint the proof leads to. An export is a header line and
// one line an entry; [Verify] reads it in constant memory and trusts only the given key.
//
// What a server could try, and what stops it: leaves and nodes are hashed with different
// prefixes, so no node passes for an entry; sizes are signed, so a tree of another shape
// does not pass for this one; whoever has an old checkpoint notices a log that shrank,
// forked or was rewritten. A server that holds the key can still show two people
// different histories, until they compare checkpoints. A restored log says so in its
// epoch and its first entry.
//
// The package is pure: no database, no clock, no network. The client links it.
package ledger

import "golang.org/x/mod/sumdb/tlog"

// Hash is a leaf or a node of a tree: RFC 6962 with SHA-256. In JSON it is base64.
type Hash = tlog.Hash

// Limits of what a log takes, so that a verifier can bound its memory.
const (
	MaxPayload = 8 << 20   // bytes of canonical JSON
	MaxRecord  = 256 << 10 // bytes of canonical JSON
	maxLine    = MaxPayload + MaxRecord + 1<<10

	// MaxSize is how many entries a log can have: near the end of int64 the
	// arithmetic of trees does not terminate.
	MaxSize = 1 << 60
)
