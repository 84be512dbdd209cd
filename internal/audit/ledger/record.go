package ledger

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"golang.org/x/mod/sumdb/tlog"

	"writ/internal/canonical"
)

// version of the record's form. A new member must be optional: the text of a record
// without it stays as it was.
const version = 1

// The actions of entries about the log itself. Their payloads are never erased.
const (
	Restored = "log.restored"     // begins an epoch
	Erased   = "payload.erased"   // the payload of one entry is gone
	Retired  = "payloads.retired" // the payloads of many are gone, by their age
	Begun    = "log.begun"        // of System: another log begins
	Anchored = "logs.anchored"    // of System: what other logs have become
)

// AboutLog reports whether an action is one of those about the log itself.
func AboutLog(action string) bool {
	switch action {
	case Restored, Erased, Retired, Begun, Anchored:
		return true
	}
	return false
}

// SaltSize is the number of random bytes that keep anyone from testing a guess of an
// erased payload.
const SaltSize = 32

// Record is what a leaf commits to. The canonical form sorts its members.
type Record struct {
	Form    int     `json:"v"`
	Log     string  `json:"log"`
	Epoch   int64   `json:"epoch"`
	Index   int64   `json:"index"`
	Time    int64   `json:"time"` // microseconds since 1970, UTC
	Action  string  `json:"action"`
	Actor   Actor   `json:"actor"`
	Subject Subject `json:"subject"`

	Decision
	Stop // in entries of the kill switch

	Payload string `json:"payload,omitzero"` // Commitment to the payload, where there is one
	// Policies is the digest of the active policies, in entries that change which they are: hex SHA-256.
	Policies string `json:"policies,omitzero"`
}

// Decision is what the entry of a decision says even after its payload was erased: who
// wanted to call what, under which plan, the answer, and which version of which policy
// gave it by which rule. Most of it is what entries are found by. Each member may be
// empty; without a verdict the entry is no decision.
type Decision struct {
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
	// Digest is that of the version's text, in entries about a policy: hex SHA-256.
	Digest string `json:"digest,omitzero"`
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

// Encode is the record's canonical form, whose hash is the leaf.
func (r Record) Encode() ([]byte, error) {
	o := canonical.NewObject(recordSize)
	o.String("action", r.Action)
	o.Begin("actor")
	o.String("id", r.Actor.ID)
	o.String("kind", r.Actor.Kind)
	o.End()
	o.Optional("agent", r.Agent)
	o.Optional("digest", r.Digest)
	o.Integer("epoch", r.Epoch)
	o.Integer("index", r.Index)
	if len(r.Keys) > 0 {
		o.Value("keys", func(out []byte) []byte { return appendTexts(out, r.Keys) })
	}
	o.String("log", r.Log)
	o.Optional("payload", r.Payload)
	o.Optional("plan", r.Plan)
	o.Optional("policies", r.Policies)
	o.Optional("policy", r.Policy)
	if r.Version != 0 {
		o.Integer("policyVersion", int64(r.Version))
	}
	o.Optional("rule", r.Rule)
	o.Optional("scope", r.Scope)
	o.Optional("server", r.Server)
	o.Optional("session", r.Session)
	o.Optional("step", r.Step)
	o.Begin("subject")
	o.String("id", r.Subject.ID)
	o.String("type", r.Subject.Type)
	o.End()
	o.Integer("time", r.Time)
	o.Optional("tool", r.Tool)
	o.Integer("v", version)
	o.Optional("verdict", r.Verdict)
	text, err := o.Bytes()
	if err != nil {
		return nil, err
	}
	if len(text) > MaxRecord {
		return nil, fmt.Errorf("the record has %d bytes, and may have %d", len(text), MaxRecord)
	}
	return text, nil
}

// appendTexts appends a list of ids. Others than ids of ours are not canonical, and no record is read with them.
func appendTexts(out []byte, ids []string) []byte {
	for i, id := range ids {
		mark := byte(',')
		if i == 0 {
			mark = '['
		}
		out = append(append(append(out, mark, '"'), id...), '"')
	}
	return append(out, ']')
}

// recordSize is enough for most records.
const recordSize = 768

// ParseRecord reads a record, and refuses any text but the one Encode gives: two texts of
// one meaning would have two leaves.
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

// ReadRecord reads a record that Encode wrote, without checking that it is canonical.
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
