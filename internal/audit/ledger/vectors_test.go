package ledger_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"writ/internal/audit/ledger"
)

var updateVectors = flag.Bool("update", false, "write testdata/vectors.json again")

const vectorsFile = "testdata/vectors.json"

// A vector is one entry as a server shows it, and what a checker must say of it. The
// dashboard's checker reads the same file. Problem names the first check that fails:
// leaf, record, key, signature, origin, path, payload, shrunk, rewritten, epoch;
// empty: everything is proved.
type vector struct {
	Name    string         `json:"name"`
	Keys    []string       `json:"keys"`
	Record  string         `json:"record"`
	Receipt ledger.Receipt `json:"receipt"`
	Payload *string        `json:"payload,omitempty"`
	Salt    string         `json:"salt,omitempty"`
	// Seen is the checkpoint that was seen before, and Proof what the server gives to show that its log begins with it.
	Seen    string        `json:"seen,omitempty"`
	Proof   []ledger.Hash `json:"consistency,omitempty"`
	Problem string        `json:"problem"`
}

// TestVectors: the stored vectors are those that this code makes, and this code judges each as the file says.
func TestVectors(t *testing.T) {
	t.Parallel()
	made, err := json.MarshalIndent(madeVectors(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	made = append(made, '\n')
	keep(t, vectorsFile, made)
	keep(t, "testdata/another-key.txt", []byte(keyText(t, another)+"\n"))
	var vectors []vector
	if err := json.Unmarshal(made, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		if got := v.judge(t); got != v.Problem {
			t.Errorf("%s: %q, want %q", v.Name, got, v.Problem)
		}
	}
}

// keep compares a file with what this code makes, or writes it.
func keep(t *testing.T, name string, made []byte) {
	t.Helper()
	if *updateVectors {
		if err := os.WriteFile(name, made, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if stored, err := os.ReadFile(name); err != nil || !bytes.Equal(stored, made) {
		t.Fatalf("%s is not what this code makes (%v): run go test ./internal/audit/ledger -run TestVectors -update",
			name, err)
	}
}

// judge checks a vector with the functions of the package, in the order in which a person is told.
func (v *vector) judge(t *testing.T) string {
	t.Helper()
	keys, err := ledger.ParseKeys(strings.Join(v.Keys, "\n"))
	if err != nil {
		return "key"
	}
	if ledger.LeafHash([]byte(v.Record)) != v.Receipt.Leaf {
		return "leaf"
	}
	record, err := ledger.ParseRecord([]byte(v.Record))
	if err != nil || record.Log != v.Receipt.Log || record.Index != v.Receipt.Index {
		return "record"
	}
	now, err := ledger.OpenCheckpoint(v.Receipt.Checkpoint, keys)
	if err != nil {
		return "signature"
	}
	if now.Origin.Log != v.Receipt.Log || now.Origin.Epoch != v.Receipt.Epoch {
		return "origin"
	}
	if _, err := v.Receipt.Check(keys); err != nil {
		return "path"
	}
	if v.Payload != nil {
		salt, err := hex.DecodeString(v.Salt)
		if err != nil || ledger.Commitment(salt, []byte(*v.Payload)) != record.Payload {
			return "payload"
		}
	}
	if v.Seen == "" {
		return ""
	}
	return v.compare(t, keys, now)
}

// compare is what a reader who kept a checkpoint finds out.
func (v *vector) compare(t *testing.T, keys ledger.Keys, now ledger.Checkpoint) string {
	t.Helper()
	seen, err := ledger.OpenCheckpoint(v.Seen, keys)
	if err != nil {
		return "key"
	}
	switch {
	case seen.Origin.Installation != now.Origin.Installation || seen.Origin.Log != now.Origin.Log:
		return "origin"
	case seen.Origin.Epoch > now.Origin.Epoch:
		return "shrunk"
	case seen.Size > now.Size && seen.Origin.Epoch == now.Origin.Epoch:
		return "shrunk"
	case seen.Size > now.Size:
		return "epoch"
	}
	if ledger.CheckConsistency(v.Proof, seen.Size, seen.Root, now.Size, now.Root) == nil {
		return ""
	}
	if seen.Origin.Epoch < now.Origin.Epoch {
		return "epoch"
	}
	return "rewritten"
}

// vectorOf shows an entry of a history truly; seen is how much of it was seen before.
func vectorOf(t *testing.T, name string, h *history, index, seen int) vector {
	t.Helper()
	reader := stored(t, h.leaves())
	proof, err := ledger.ProveInclusion(int64(index), int64(len(h.items)), reader)
	if err != nil {
		t.Fatal(err)
	}
	v := vector{
		Name: name, Keys: []string{keyText(t, signing)}, Record: string(h.items[index].record),
		Receipt: ledger.Receipt{
			Log: h.log, Epoch: h.epoch, Index: int64(index),
			Leaf: h.leaves()[index], Proof: proof, Checkpoint: h.checkpoint(signing),
		},
	}
	if it := h.items[index]; it.payload != nil {
		text := string(it.payload)
		v.Payload, v.Salt = &text, hex.EncodeToString(it.salt)
	}
	if seen > 0 {
		v.Seen = h.checkpointAt(seen)
		if v.Proof, err = ledger.ProveConsistency(int64(seen), int64(len(h.items)), reader); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// checkpointAt is the checkpoint of the first entries, as it was signed then.
func (h *history) checkpointAt(size int) string {
	then := &history{t: h.t, log: h.log, epoch: h.epoch, items: h.items[:size]}
	return then.checkpoint(signing)
}

// madeVectors are good ones of many shapes, and forgeries of each kind.
func madeVectors(t *testing.T) []vector {
	t.Helper()
	var all []vector
	for _, size := range []int{1, 2, 3, 4, 5, 7, 8, 13, 64, 100} {
		h := newHistory(t, size)
		for _, index := range slices.Compact([]int{0, size / 2, size - 1}) {
			for _, seen := range slices.Compact([]int{0, 1, (size + 1) / 2, size}) {
				name := fmt.Sprintf("entry %d of %d, seen %d", index, size, seen)
				all = append(all, vectorOf(t, name, h, index, seen))
			}
		}
	}
	all = append(all, restoredVectors(t)...)
	return append(all, forgedVectors(t)...)
}

// restoredVectors are of logs that went on after a restore.
func restoredVectors(t *testing.T) []vector {
	t.Helper()
	before := newHistory(t, 13)
	kept := &history{t: t, log: before.log, items: slices.Clone(before.items)}
	kept.restore(13, 1_700_000_000, map[string]any{"known": true, "entries": 0, "from": 13})
	kept.add("call.decided", nil)
	whole := vectorOf(t, "a restore that lost nothing", kept, 14, 0)
	whole.Seen = before.checkpoint(signing)
	proof, err := ledger.ProveConsistency(13, 15, stored(t, kept.leaves()))
	if err != nil {
		t.Fatal(err)
	}
	whole.Proof = proof
	lost := &history{t: t, log: before.log, items: slices.Clone(before.items)}
	lost.restore(9, 1_700_000_000, map[string]any{"known": true, "entries": 4, "from": 9})
	shorter := vectorOf(t, "a restore that lost what was seen", lost, 9, 0)
	shorter.Seen, shorter.Problem = before.checkpoint(signing), "epoch"
	for range 10 {
		lost.add("call.decided", nil)
	}
	longer := vectorOf(t, "a restore that lost what was seen, and grew again", lost, 9, 0)
	longer.Seen, longer.Problem = before.checkpoint(signing), "epoch"
	if longer.Proof, err = ledger.ProveConsistency(13, 20, stored(t, lost.leaves())); err != nil {
		t.Fatal(err)
	}
	back := vectorOf(t, "an epoch before the one that was seen", before, 5, 0)
	back.Seen, back.Problem = kept.checkpoint(signing), "shrunk"
	return []vector{whole, shorter, longer, back}
}

// forgedVectors are what a server could try. Each is the good one with one lie.
func forgedVectors(t *testing.T) []vector {
	t.Helper()
	h, other := newHistory(t, 13), newHistory(t, 16)
	rewritten := &history{t: t, log: h.log, items: slices.Clone(h.items)}
	rewritten.items[2] = other.items[3]
	var all []vector
	forge := func(name, problem string, lie func(v *vector)) {
		v := vectorOf(t, "forged: "+name, h, 5, 8)
		v.Receipt.Proof = slices.Clone(v.Receipt.Proof)
		v.Problem = problem
		lie(&v)
		all = append(all, v)
	}
	forge("another verdict in the record", "leaf", func(v *vector) {
		v.Record = strings.Replace(v.Record, `"deny"`, `"allow"`, 1)
	})
	forge("another leaf", "leaf", func(v *vector) { v.Receipt.Leaf[0] ^= 1 })
	forge("a record and its leaf of another entry", "record", func(v *vector) {
		v.Record, v.Receipt.Leaf = string(h.items[6].record), h.leaves()[6]
	})
	forge("a record with a space and its leaf", "record", func(v *vector) {
		v.Record = strings.Replace(v.Record, `,`, `, `, 1)
		v.Receipt.Leaf = ledger.LeafHash([]byte(v.Record))
	})
	forge("a record that was never in the log", "path", func(v *vector) {
		v.Record = strings.Replace(v.Record, `"deny"`, `"allow"`, 1)
		v.Receipt.Leaf = ledger.LeafHash([]byte(v.Record))
	})
	forge("another path", "path", func(v *vector) { v.Receipt.Proof[1][0] ^= 1 })
	forge("a path that is cut", "path", func(v *vector) {
		v.Receipt.Proof = v.Receipt.Proof[:len(v.Receipt.Proof)-1]
	})
	forge("a path that is longer", "path", func(v *vector) {
		v.Receipt.Proof = append(v.Receipt.Proof, v.Receipt.Leaf)
	})
	forge("no path", "path", func(v *vector) { v.Receipt.Proof = []ledger.Hash{} })
	forge("the path in another order", "path", func(v *vector) { slices.Reverse(v.Receipt.Proof) })
	return append(all, forgedNotes(t, h, other, rewritten)...)
}

// forgedNotes lie about the checkpoint, its key and what was seen.
func forgedNotes(t *testing.T, h, other, rewritten *history) []vector {
	t.Helper()
	var all []vector
	forge := func(name, problem string, lie func(v *vector)) {
		v := vectorOf(t, "forged: "+name, h, 5, 8)
		v.Problem = problem
		lie(&v)
		all = append(all, v)
	}
	foreign := &history{t: t, log: "org-2", items: h.items}
	forge("a checkpoint by another key", "signature", func(v *vector) { v.Receipt.Checkpoint = h.checkpoint(another) })
	forge("a signature that is cut", "signature", func(v *vector) {
		v.Receipt.Checkpoint = v.Receipt.Checkpoint[:len(v.Receipt.Checkpoint)-9] + "\n"
	})
	forge("a checkpoint without a signature", "signature", func(v *vector) {
		v.Receipt.Checkpoint = v.Receipt.Checkpoint[:strings.Index(v.Receipt.Checkpoint, "—")]
	})
	forge("another root under the signature", "signature", func(v *vector) {
		lines := strings.Split(v.Receipt.Checkpoint, "\n")
		lines[2] = strings.Split(other.checkpoint(signing), "\n")[2]
		v.Receipt.Checkpoint = strings.Join(lines, "\n")
	})
	forge("another size under the signature", "signature", func(v *vector) {
		v.Receipt.Checkpoint = strings.Replace(v.Receipt.Checkpoint, "\n13\n", "\n12\n", 1)
	})
	forge("the root of another log of this key", "path", func(v *vector) {
		v.Receipt.Checkpoint = other.checkpoint(signing)
	})
	forge("the checkpoint of another organization", "origin", func(v *vector) {
		v.Receipt.Checkpoint = foreign.checkpoint(signing)
	})
	forge("another epoch than the checkpoint's", "origin", func(v *vector) { v.Receipt.Epoch = 1 })
	forge("a key whose hash is of another", "key", func(v *vector) {
		hash := strings.Split(keyText(t, another), "+")[1]
		v.Keys = []string{strings.Replace(v.Keys[0], strings.Split(v.Keys[0], "+")[1], hash, 1)}
	})
	forge("a key that is cut", "key", func(v *vector) { v.Keys = []string{v.Keys[0][:len(v.Keys[0])-4]} })
	forge("another payload", "payload", func(v *vector) {
		text := strings.Replace(*v.Payload, `"n":5`, `"n":6`, 1)
		v.Payload = &text
	})
	forge("the payload in other letters", "payload", func(v *vector) {
		text := strings.Replace(*v.Payload, `\u00e9`, "é", 1)
		v.Payload = &text
	})
	forge("another salt", "payload", func(v *vector) { v.Salt = strings.Repeat("00", 32) })
	forge("a log that shrank", "shrunk", func(v *vector) { v.Seen = other.checkpoint(signing) })
	forge("a log that was rewritten", "rewritten", func(v *vector) {
		now := vectorOf(t, v.Name, rewritten, 5, 8)
		v.Receipt, v.Proof = now.Receipt, now.Proof
	})
	forge("a log that was rewritten, in its size", "rewritten", func(v *vector) {
		now := vectorOf(t, v.Name, rewritten, 5, 0)
		v.Receipt, v.Seen, v.Proof = now.Receipt, h.checkpoint(signing), []ledger.Hash{}
	})
	forge("a consistency proof that is cut", "rewritten", func(v *vector) { v.Proof = v.Proof[:len(v.Proof)-1] })
	forge("no consistency proof", "rewritten", func(v *vector) { v.Proof = []ledger.Hash{} })
	forge("a checkpoint seen under another key", "key", func(v *vector) { v.Seen = h.checkpoint(another) })
	forge("a checkpoint seen of another log", "origin", func(v *vector) { v.Seen = foreign.checkpoint(signing) })
	return all
}
