// Package audit is the record: one append-only Merkle log per organization,
// and one named System for what belongs to no organization.
//
// Append writes an entry in the transaction of the change it records, so that
// neither exists without the other. An entry's record is canonical JSON; its
// leaf is the RFC 6962 hash of exactly those bytes. The payload stands beside
// the record, which holds only its salted hash: a payload can be erased later
// and every proof still holds.
//
// The head of a log carries its size and its frontier, the roots of the complete
// subtrees, from which the next root follows without reading the log. The head
// is read inside each transaction and never trusted from memory, because other
// processes append too. A change must declare the log (database.Change.Logs):
// appending without its lock is refused.
package audit

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

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
	// Payload is what an auditor wants to know beside that. It never holds a
	// secret; nil means none.
	Payload any
	// Observation marks an entry that changes nothing a decision depends on.
	// Every other entry raises the log's generation, which tells all replicas
	// that what they remember of the organization is old.
	Observation bool
}

// Subject is what an entry is about.
type Subject struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

// record is what the leaf commits to. Its members are sorted by the canonical
// form, so their order here is only for the reader.
type record struct {
	Version int     `json:"v"`
	Log     string  `json:"log"`
	Epoch   int64   `json:"epoch"`
	Index   int64   `json:"index"`
	Time    int64   `json:"time"` // microseconds since 1970, UTC
	Action  string  `json:"action"`
	Actor   actor   `json:"actor"`
	Subject Subject `json:"subject"`
	Payload string  `json:"payload,omitzero"` // hex HMAC-SHA256 of the payload under its salt
}

type actor struct {
	Kind principal.Kind `json:"kind"`
	ID   string         `json:"id"`
}

// Append adds the entry to its log within tx and gives its index.
func Append(ctx context.Context, tx *database.Tx, e Entry) (index int64, err error) {
	if !tx.HoldsLog(e.Log) {
		return 0, fmt.Errorf("append %s to log %s: the change does not declare that log", e.Action, e.Log)
	}
	h, err := headIn(ctx, tx, e.Log)
	if err != nil {
		return 0, err
	}
	payload, salt, commitment, err := commit(e.Payload)
	if err != nil {
		return 0, fmt.Errorf("payload of %s: %w", e.Action, err)
	}
	text, err := canonical.Marshal(record{
		Version: 1, Log: e.Log, Epoch: h.Epoch, Index: h.Size, Time: database.Micros(tx.Now()),
		Action: e.Action, Actor: actor{e.Actor.Kind, e.Actor.ActorID()}, Subject: e.Subject, Payload: commitment,
	})
	if err != nil {
		return 0, fmt.Errorf("record of %s: %w", e.Action, err)
	}
	leaf := tlog.RecordHash(text)
	if err := insertEntry(ctx, tx, e, h.Size, string(text), payload, salt, leaf); err != nil {
		return 0, fmt.Errorf("append %s: %w", e.Action, err)
	}
	index = h.Size
	h.add(leaf)
	if !e.Observation {
		h.Generation++
	}
	return index, nil
}

// commit makes the payload's text and a salted commitment to it. The salt keeps
// the commitment from telling a guesser what an erased payload was.
func commit(payload any) (text, salt []byte, commitment string, err error) {
	if payload == nil {
		return nil, nil, "", nil
	}
	if text, err = canonical.Marshal(payload); err != nil {
		return nil, nil, "", err
	}
	salt = make([]byte, 32)
	rand.Read(salt)
	mac := hmac.New(sha256.New, salt)
	mac.Write(text)
	return text, salt, hex.EncodeToString(mac.Sum(nil)), nil
}
