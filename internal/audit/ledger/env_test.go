package ledger_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"writ/internal/audit/ledger"
	"writ/internal/canonical"
)

const installation = "0197-test"

// signing is the key of the installation; another is one of nobody.
var signing, another = keyOf(1), keyOf(2)

func keyOf(fill byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{fill}, ed25519.SeedSize))
}

func signer(t testing.TB, key ed25519.PrivateKey) note.Signer {
	t.Helper()
	s, err := ledger.NewSigner(installation, key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func keyText(t testing.TB, key ed25519.PrivateKey) string {
	t.Helper()
	text, err := ledger.KeyText(installation, key.Public().(ed25519.PublicKey))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func keys(t testing.TB, trusted ...ed25519.PrivateKey) ledger.Keys {
	t.Helper()
	var texts []string
	for _, key := range trusted {
		texts = append(texts, keyText(t, key))
	}
	parsed, err := ledger.ParseKeys(strings.Join(texts, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// item is an entry of a log in memory.
type item struct{ record, payload, salt []byte }

// history is a log in memory, which a test can tamper with.
type history struct {
	t     testing.TB
	log   string
	epoch int64
	items []item
}

func newHistory(t testing.TB, n int) *history {
	h := &history{t: t, log: "org-1"}
	for i := range n {
		h.add("call.decided", map[string]any{"n": i, "note": "é\n\"x\""})
	}
	return h
}

func (h *history) add(action string, payload any) {
	h.t.Helper()
	h.addAbout(ledger.Subject{Type: "thing", ID: "7"}, action, payload)
}

// erase takes a payload away, as an attacker does; the log does not say so.
func (h *history) erase(indexes ...int) {
	for _, index := range indexes {
		h.items[index].payload, h.items[index].salt = nil, nil
	}
}

func (h *history) addAbout(subject ledger.Subject, action string, payload any) {
	h.t.Helper()
	r := ledger.Record{
		Log:      h.log,
		Epoch:    h.epoch,
		Index:    int64(len(h.items)),
		Time:     1_700_000_000_000_000 + int64(len(h.items)),
		Action:   action,
		Actor:    ledger.Actor{Kind: "key", ID: "k1"},
		Subject:  subject,
		Decision: ledger.Decision{Agent: "a", Tool: "mail.send", Verdict: "deny", Plan: "p"},
	}
	var it item
	var err error
	if payload != nil {
		if it.payload, err = canonical.Marshal(payload); err != nil {
			h.t.Fatal(err)
		}
		salt := sha256.Sum256([]byte(fmt.Sprint("salt", len(h.items))))
		it.salt = salt[:]
		r.Payload = ledger.Commitment(it.salt, it.payload)
	}
	if it.record, err = r.Encode(); err != nil {
		h.t.Fatal(err)
	}
	h.items = append(h.items, it)
}

// restore cuts the log back to size and begins another epoch.
func (h *history) restore(size int, epoch int64, lost any) {
	h.items = h.items[:size:size]
	h.epoch = epoch
	h.add(ledger.Restored, lost)
}

func (h *history) leaves() []ledger.Hash {
	leaves := make([]ledger.Hash, len(h.items))
	for i, it := range h.items {
		leaves[i] = ledger.LeafHash(it.record)
	}
	return leaves
}

func (h *history) checkpoint(key ed25519.PrivateKey) string {
	h.t.Helper()
	origin := ledger.Origin{Installation: installation, Log: h.log, Epoch: h.epoch}
	signed, err := ledger.Checkpoint{
		Origin: origin, Size: int64(len(h.items)), Root: mth(h.leaves()),
	}.Sign(signer(h.t, key))
	if err != nil {
		h.t.Fatal(err)
	}
	return signed
}

// export writes the log from an index on.
func (h *history) export(from int) []byte {
	h.t.Helper()
	return h.exportWith(from, h.checkpoint(signing))
}

func (h *history) exportWith(from int, checkpoint string) []byte {
	h.t.Helper()
	var before ledger.Frontier
	for _, leaf := range h.leaves()[:from] {
		before.Add(leaf)
	}
	out, err := ledger.NewHeader(before, checkpoint, keyText(h.t, signing)).Encode()
	if err != nil {
		h.t.Fatal(err)
	}
	for _, it := range h.items[from:] {
		out = ledger.AppendLine(out, it.record, it.payload, it.salt)
	}
	return out
}

// What follows is RFC 6962 section 2.1 written down again, from its text alone:
// slow, obvious, and sharing nothing with the code under test.

type hash = [32]byte

func leafHash(entry []byte) hash { return sha256.Sum256(append([]byte{0}, entry...)) }

func nodeHash(left, right hash) hash {
	return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
}

// split is the largest power of two below n.
func split(n int) int { return 1 << (bits.Len(uint(n-1)) - 1) }

// mth is MTH(D[n]) over leaf hashes.
func mth[H ~[32]byte](leaves []H) hash {
	switch n := len(leaves); n {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return hash(leaves[0])
	default:
		k := split(n)
		return nodeHash(mth(leaves[:k]), mth(leaves[k:]))
	}
}

// path is PATH(m, D[n]).
func path[H ~[32]byte](m int, leaves []H) []hash {
	n := len(leaves)
	if n <= 1 {
		return nil
	}
	k := split(n)
	if m < k {
		return append(path(m, leaves[:k]), mth(leaves[k:]))
	}
	return append(path(m-k, leaves[k:]), mth(leaves[:k]))
}

// subproof is SUBPROOF(m, D[n], b).
func subproof[H ~[32]byte](m int, leaves []H, whole bool) []hash {
	n := len(leaves)
	if m == n {
		if whole {
			return nil
		}
		return []hash{mth(leaves)}
	}
	k := split(n)
	if m <= k {
		return append(subproof(m, leaves[:k], whole), mth(leaves[k:]))
	}
	return append(subproof(m-k, leaves[k:], false), mth(leaves[:k]))
}

func showAll[H ~[32]byte](hashes []H) string {
	var text []string
	for _, h := range hashes {
		text = append(text, hex.EncodeToString(h[:]))
	}
	return strings.Join(text, "\n")
}
