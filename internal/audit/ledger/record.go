package ledger

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/tlog"

	"writ/internal/canonical"
)

// version of the record's form. A member that is not listed below needs another.
const version = 1

// Restored is the action of the entry that begins an epoch.
const Restored = "log.restored"

// SaltSize is the number of bytes that keep a commitment from telling a guesser
// what an erased payload was.
const SaltSize = 32

// Record is what a leaf commits to. The canonical form sorts its members, so
// their order here is only for the reader.
type Record struct {
	Form    int     `json:"v"`
	Log     string  `json:"log"`
	Epoch   int64   `json:"epoch"`
	Index   int64   `json:"index"`
	Time    int64   `json:"time"` // microseconds since 1970, UTC
	Action  string  `json:"action"`
	Actor   Actor   `json:"actor"`
	Subject Subject `json:"subject"`

	// Of a decision: who wanted to call what, under which plan, the answer, and
	// which version of which policy gave it by which rule.
	Agent   string `json:"agent,omitzero"`
	Session string `json:"session,omitzero"`
	Plan    string `json:"plan,omitzero"`
	Step    string `json:"step,omitzero"` // of the plan
	Server  string `json:"server,omitzero"`
	Tool    string `json:"tool,omitzero"`
	Verdict string `json:"verdict,omitzero"`
	Policy  string `json:"policy,omitzero"`
	Version int    `json:"policyVersion,omitzero"`
	Rule    string `json:"rule,omitzero"`

	Payload string `json:"payload,omitzero"` // Commitment to the payload, where there is one
}

// Actor is who did it.
type Actor struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

// Subject is what it was done to.
type Subject struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// Encode gives the record's canonical form, which the leaf is the hash of.
func (r Record) Encode() ([]byte, error) {
	w := writer{out: make([]byte, 0, 512)}
	w.text(`{"action":`, r.Action)
	w.text(`,"actor":{"id":`, r.Actor.ID)
	w.text(`,"kind":`, r.Actor.Kind)
	w.raw(`}`)
	w.optional(`,"agent":`, r.Agent)
	w.number(`,"epoch":`, r.Epoch)
	w.number(`,"index":`, r.Index)
	w.text(`,"log":`, r.Log)
	w.optional(`,"payload":`, r.Payload)
	w.optional(`,"plan":`, r.Plan)
	w.optional(`,"policy":`, r.Policy)
	if r.Version != 0 {
		w.number(`,"policyVersion":`, int64(r.Version))
	}
	w.optional(`,"rule":`, r.Rule)
	w.optional(`,"server":`, r.Server)
	w.optional(`,"session":`, r.Session)
	w.optional(`,"step":`, r.Step)
	w.text(`,"subject":{"id":`, r.Subject.ID)
	w.text(`,"type":`, r.Subject.Type)
	w.raw(`}`)
	w.number(`,"time":`, r.Time)
	w.optional(`,"tool":`, r.Tool)
	w.number(`,"v":`, version)
	w.optional(`,"verdict":`, r.Verdict)
	w.raw(`}`)
	if w.err != nil {
		return nil, w.err
	}
	if len(w.out) > MaxRecord {
		return nil, fmt.Errorf("the record has %d bytes, and may have %d", len(w.out), MaxRecord)
	}
	return w.out, nil
}

// writer writes a canonical object whose members are known: every decision
// waits for its record, and the detour through Marshal costs as much as storing it.
type writer struct {
	out []byte
	err error // the first
}

func (w *writer) raw(text string) { w.out = append(w.out, text...) }

func (w *writer) number(name string, value int64) {
	w.raw(name)
	w.out = strconv.AppendInt(w.out, value, 10)
}

func (w *writer) text(name, value string) {
	w.raw(name)
	out, err := canonical.AppendString(w.out, value)
	if err != nil {
		w.err = errors.Join(w.err, err)
		return
	}
	w.out = out
}

// optional leaves an empty member out.
func (w *writer) optional(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

// ParseRecord reads a record. Any text but the one Encode gives is refused: two
// texts of one meaning would have two leaves.
func ParseRecord(text []byte) (Record, error) {
	r, err := ReadRecord(text)
	if err != nil {
		return Record{}, err
	}
	again, err := r.Encode()
	if err != nil {
		return Record{}, fmt.Errorf("the record cannot be read: %w", err)
	}
	if !bytes.Equal(again, text) {
		return Record{}, errors.New("the record is not in its canonical form")
	}
	return r, nil
}

// ReadRecord reads a record of one's own log, which Encode wrote: that it is
// canonical is not looked at.
func ReadRecord(text []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(text, &r, json.RejectUnknownMembers(true)); err != nil {
		return Record{}, fmt.Errorf("the record cannot be read: %w", quiet(err))
	}
	if r.Form != version {
		return Record{}, fmt.Errorf("the record has version %d, and this program knows version %d", r.Form, version)
	}
	return r, nil
}

// LeafHash is the leaf of a record's canonical form (RFC 6962 section 2.1).
func LeafHash(record []byte) Hash { return tlog.RecordHash(record) }

// Commitment is the salted hash of a payload's canonical form, in hex.
func Commitment(salt, payload []byte) string {
	var sum [sha256.Size]byte
	mac := hmac.New(sha256.New, salt)
	mac.Write(payload)
	return hex.EncodeToString(mac.Sum(sum[:0]))
}

// quiet is a decoder's error without the values that it may quote.
func quiet(err error) error {
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		return fmt.Errorf("a member at byte %d is unknown or of another type", semantic.ByteOffset)
	}
	return err
}
