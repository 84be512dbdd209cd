// Package audit is the record: one append-only Merkle log per organization,
// and one named System for what belongs to no organization.
//
// Log.Append writes an entry in the transaction of the change it records, so that
// neither exists without the other. An entry's record is canonical JSON; its leaf is
// the RFC 6962 hash of exactly those bytes. The record holds only a salted hash of the
// payload: a payload can be erased later and every proof still holds. Package ledger
// defines the forms.
//
// The head of a log has its size and its frontier, the roots of the complete subtrees,
// from which the next root follows without reading the log. Each transaction reads the
// head, because other processes append too. A change must declare the log
// (database.Change.Logs): appending without its lock is refused.
//
// Before a transaction commits, each log it grew is signed once. The checkpoint is
// stored in the head and released, with a receipt for every new entry, only when the
// commit is durable: one of a state that was rolled back never leaves the process.
// Complete runs of 256 hashes are written once as tiles, so that a proof for any entry
// costs a few reads at any size.
//
// Service reads: lists, proofs, checkpoints, exports. It also erases payloads. All of it
// is bound to one log, and so to one organization.
package audit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"writ/internal/audit/ledger"
	"writ/internal/canonical"
	"writ/internal/database"
	"writ/internal/principal"
)

// System is the log of what belongs to no organization: sign-ins, accounts,
// signing keys, keys bound to none.
const System = "system"

// LogOf is the log of an organization, or System where there is none.
func LogOf(orgID string) string {
	if orgID == "" {
		return System
	}
	return orgID
}

// Entry is something that happened and must be provable.
type Entry struct {
	Log     string
	Action  string // what happened, in the past tense: key.created
	Actor   principal.Principal
	Subject Subject
	// Decision is set when a call was judged.
	Decision Decision
	// Stop is set when the kill switch was used.
	Stop ledger.Stop
	// Payload is what else an auditor wants to know, never a secret; nil: nothing.
	// It is encoded, unless it is Canonical.
	Payload any
	// Observation marks an entry that changes nothing a decision depends on. Every
	// other entry raises the log's generation, by which replicas know that what they
	// have cached of the organization is old.
	Observation bool
	// Policies is the digest of the organization's active policies, if the change may have
	// changed it.
	Policies string
	// Note is handed to the log's follower once the entry is committed; nil: nothing.
	Note any
}

// Canonical is a payload in canonical JSON already, encoded before the transaction:
// the decisions of one commit wait for each other.
type Canonical []byte

// Subject is what an entry is about.
type Subject = ledger.Subject

// Decision is what the entry of a decision says for good.
type Decision = ledger.Decision

// Appended is an entry that was added within a transaction.
type Appended struct {
	Index int64
	Leaf  ledger.Hash
	in    *running
}

// ErrNotCommitted refuses the receipt of an entry that is not committed yet, or was
// rolled back.
var ErrNotCommitted = errors.New("the entry was not committed")

// ErrNotSigned refuses the receipt of an entry of an Unsigned log.
var ErrNotSigned = errors.New("checkpoints are not signed here")

// Receipt proves that the entry is in the log, once the change that appended it is
// committed. Any goroutine may call it.
func (a *Appended) Receipt() (ledger.Receipt, error) {
	switch {
	case !a.in.committed:
		return ledger.Receipt{}, ErrNotCommitted
	case a.in.head.Checkpoint == "":
		return ledger.Receipt{}, ErrNotSigned
	}
	proof, err := a.in.grown.Proof(a.Index)
	if err != nil {
		return ledger.Receipt{}, fmt.Errorf("receipt: %w", err)
	}
	h := &a.in.head
	return ledger.Receipt{
		Log:        h.Log,
		Epoch:      h.Epoch,
		Index:      a.Index,
		Leaf:       a.Leaf,
		Proof:      proof,
		Checkpoint: h.Checkpoint,
	}, nil
}

// Append adds the entry to its log within tx.
func (l *Log) Append(ctx context.Context, tx *database.Tx, e Entry) (*Appended, error) {
	if !tx.HoldsLog(e.Log) {
		return nil, fmt.Errorf("append %s to log %s: the change does not declare that log", e.Action, e.Log)
	}
	r, err := l.runningIn(ctx, tx, e.Log)
	if err != nil {
		return nil, err
	}
	payload, salt, commitment, err := commit(e.Payload)
	if err != nil {
		return nil, fmt.Errorf("payload of %s: %w", e.Action, err)
	}
	record := ledger.Record{
		Log:      e.Log,
		Epoch:    r.head.Epoch,
		Index:    r.tree.Size(),
		Time:     database.Micros(tx.Now()),
		Action:   e.Action,
		Actor:    ledger.Actor{Kind: string(e.Actor.Kind), ID: e.Actor.ActorID()},
		Subject:  e.Subject,
		Decision: e.Decision,
		Stop:     e.Stop,
		Payload:  commitment,
		Policies: e.Policies,
	}
	text, err := record.Encode()
	if err != nil {
		return nil, fmt.Errorf("record of %s: %w", e.Action, err)
	}
	added := &Appended{Index: record.Index, Leaf: ledger.LeafHash(text), in: r}
	r.rows = append(r.rows, entryRow(&record, text, payload, salt, added.Leaf))
	r.tree.Add(added.Leaf)
	if e.Note != nil {
		r.notes = append(r.notes, e.Note)
	}
	if !e.Observation {
		r.head.Generation++
	}
	return added, r.takeState(&record)
}

// commit makes the payload's text and a salted commitment to it.
func commit(payload any) (text, salt []byte, commitment string, err error) {
	if payload == nil {
		return nil, nil, "", nil
	}
	if written, ok := payload.(Canonical); ok {
		text = written
	} else if text, err = canonical.Marshal(payload); err != nil {
		return nil, nil, "", err
	}
	if len(text) > ledger.MaxPayload {
		return nil, nil, "", fmt.Errorf("it has %d bytes, and may have %d", len(text), ledger.MaxPayload)
	}
	salt = make([]byte, ledger.SaltSize)
	rand.Read(salt)
	return text, salt, ledger.Commitment(salt, text), nil
}
