package ledger_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
	"pgregory.net/rapid"

	"writ/internal/audit/ledger"
)

func leavesOf(n int) []ledger.Hash {
	leaves := make([]ledger.Hash, n)
	for i := range leaves {
		leaves[i] = ledger.LeafHash([]byte(fmt.Sprint("entry ", i)))
	}
	return leaves
}

// stored keeps every complete subtree, as tlog numbers them.
func stored(t testing.TB, leaves []ledger.Hash) tlog.HashReader {
	t.Helper()
	var hashes []ledger.Hash
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]ledger.Hash, error) {
		read := make([]ledger.Hash, len(indexes))
		for i, index := range indexes {
			if index >= int64(len(hashes)) {
				return nil, fmt.Errorf("hash %d is not stored", index)
			}
			read[i] = hashes[index]
		}
		return read, nil
	})
	for i, leaf := range leaves {
		more, err := tlog.StoredHashesForRecordHash(int64(i), leaf, reader)
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, more...)
	}
	return reader
}

// The vectors of Certificate Transparency's reference tests.
func TestRootsOfTheReferenceVectors(t *testing.T) {
	t.Parallel()
	var f ledger.Frontier
	check := func(want string) {
		t.Helper()
		if root := f.Root(); hex.EncodeToString(root[:]) != want {
			t.Errorf("root of %d leaves = %x, want %s", f.Size(), root, want)
		}
	}
	check("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
	for i, want := range []string{
		"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
		"fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
		"aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
		"d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
		"4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
		"76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
		"ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
		"5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
	} {
		entry := []string{
			"", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f",
		}[i]
		raw, err := hex.DecodeString(entry)
		if err != nil {
			t.Fatal(err)
		}
		f.Add(ledger.LeafHash(raw))
		check(want)
	}
}

func TestLeavesAndNodesAsInTheRFC(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 255, 256, 257} {
		entry := []byte(fmt.Sprint("entry ", n))
		if got, want := hash(ledger.LeafHash(entry)), leafHash(entry); got != want {
			t.Errorf("leaf of %s = %x, want %x", entry, got, want)
		}
		var f ledger.Frontier
		for _, leaf := range leavesOf(n) {
			f.Add(leaf)
		}
		if got, want := hash(f.Root()), mth(leavesOf(n)); got != want {
			t.Errorf("root of %d = %x, want %x", n, got, want)
		}
		unpacked, err := ledger.UnpackFrontier(int64(n), f.Pack())
		if err != nil || unpacked.Root() != f.Root() {
			t.Errorf("frontier of %d: %v", n, err)
		}
	}
}

func TestUnpackFrontierRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		size  int64
		bytes int
	}{{0, 32}, {1, 0}, {2, 64}, {3, 32}, {1, 31}, {1, 33}, {-1, 64 * 32}} {
		if _, err := ledger.UnpackFrontier(c.size, make([]byte, c.bytes)); err == nil {
			t.Errorf("%d bytes for %d leaves are taken", c.bytes, c.size)
		}
	}
}

// TestGrowth proves every new leaf of every growth from every small size.
func TestGrowth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.IntRange(0, 600).Draw(t, "before")
		added := rapid.IntRange(0, 70).Draw(t, "added")
		leaves := leavesOf(before + added)
		var f ledger.Frontier
		for _, leaf := range leaves[:before] {
			f.Add(leaf)
		}
		g := ledger.Grow(f)
		for _, leaf := range leaves[before:] {
			g.Add(leaf)
		}
		grown := g.End()
		after := g.Frontier()
		if want := mth(leaves); hash(grown.Root()) != want || hash(after.Root()) != want ||
			g.Size() != int64(len(leaves)) {
			t.Fatalf("root of %d+%d is wrong", before, added)
		}
		for i := before; i < len(leaves); i++ {
			proof, err := grown.Proof(int64(i))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := showAll(proof), showAll(path(i, leaves)); got != want {
				t.Fatalf("proof of %d in %d+%d:\n%s\nwant\n%s", i, before, added, got, want)
			}
		}
		for _, i := range []int64{-1, int64(before) - 1, int64(len(leaves))} {
			if _, err := grown.Proof(i); err == nil {
				t.Fatalf("leaf %d is proved, which is not new", i)
			}
		}
	})
}

func TestProofsAsInTheRFC(t *testing.T) {
	t.Parallel()
	leaves := leavesOf(70)
	reader := stored(t, leaves)
	for size := 1; size <= len(leaves); size++ {
		root := ledger.Hash(mth(leaves[:size]))
		for i := range size {
			proof, err := ledger.ProveInclusion(int64(i), int64(size), reader)
			if err != nil || showAll(proof) != showAll(path(i, leaves[:size])) {
				t.Fatalf("inclusion of %d in %d: %v", i, size, err)
			}
			if err := ledger.CheckInclusion(proof, int64(i), leaves[i], int64(size), root); err != nil {
				t.Fatal(err)
			}
			old := i + 1
			proof, err = ledger.ProveConsistency(int64(old), int64(size), reader)
			if err != nil || showAll(proof) != showAll(subproof(old, leaves[:size], true)) {
				t.Fatalf("consistency of %d with %d: %v", old, size, err)
			}
			if err := ledger.CheckConsistency(proof, int64(old), ledger.Hash(mth(leaves[:old])), int64(size),
				root); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestConsistencyWithTheEmptyLog(t *testing.T) {
	t.Parallel()
	leaves := leavesOf(3)
	root, empty := ledger.Hash(mth(leaves)), ledger.Hash(sha256.Sum256(nil))
	proof, err := ledger.ProveConsistency(0, 3, stored(t, leaves))
	if err != nil || len(proof) != 0 {
		t.Fatalf("proof = %v, %v", proof, err)
	}
	if err := ledger.CheckConsistency(proof, 0, empty, 3, root); err != nil {
		t.Error(err)
	}
	if ledger.CheckConsistency(proof, 0, root, 3, root) == nil {
		t.Error("an empty log with another root is consistent")
	}
	if ledger.CheckConsistency(leaves, 0, empty, 3, root) == nil {
		t.Error("an empty log with a proof is consistent")
	}
}

// TestProofsOfNothing changes a good proof in every way that an attacker would.
// Sizes of one shape (13 and 16 for entry 5) have one proof; which it is, the
// checkpoint signs.
func TestProofsOfNothing(t *testing.T) {
	t.Parallel()
	leaves := leavesOf(13)
	root := ledger.Hash(mth(leaves))
	proof, err := ledger.ProveInclusion(5, 13, stored(t, leaves))
	if err != nil {
		t.Fatal(err)
	}
	node := ledger.Hash(nodeHash(hash(leaves[4]), hash(leaves[5])))
	for name, c := range map[string]struct {
		proof       []ledger.Hash
		index, size int64
		leaf, root  ledger.Hash
	}{
		// A node is not an entry: its hash has another prefix and another place.
		"second preimage: the parent as a leaf": {proof[1:], 2, 13, node, root},
		"second preimage: what the node is made from": {
			proof[1:], 2, 7, ledger.LeafHash(append([]byte{1}, append(leaves[4][:], leaves[5][:]...)...)), root,
		},
		"second preimage: the concatenation hashed": {
			proof[1:], 2, 13, ledger.LeafHash(append(leaves[4][:], leaves[5][:]...)), root,
		},
		"the root as the only leaf of a log of one": {nil, 0, 1, ledger.LeafHash(root[:]), root},
		"another place":    {proof, 4, 13, leaves[5], root},
		"a smaller size":   {proof, 5, 7, leaves[5], root},
		"a larger size":    {proof, 5, 17, leaves[5], root},
		"another leaf":     {proof, 5, 13, leaves[6], root},
		"another root":     {proof, 5, 13, leaves[5], node},
		"cut":              {proof[:len(proof)-1], 5, 13, leaves[5], root},
		"longer":           {append(proof[:len(proof):len(proof)], node), 5, 13, leaves[5], root},
		"empty":            {nil, 5, 13, leaves[5], root},
		"a negative place": {proof, -1, 13, leaves[5], root},
		"a place beyond":   {proof, 13, 13, leaves[5], root},
		"a negative size":  {proof, 5, -13, leaves[5], root},
		"the largest size": {proof, 5, 1<<63 - 1, leaves[5], root},
		"a proof of a million hashes is no argument": {make([]ledger.Hash, 1<<20), 5, 13, leaves[5], root},
	} {
		if ledger.CheckInclusion(c.proof, c.index, c.leaf, c.size, c.root) == nil {
			t.Errorf("%s is proved", name)
		}
	}
}

// TestDuplicateLeaves is CVE-2012-2459: where an odd last leaf is paired with
// itself, a log with that leaf twice has the same root.
func TestDuplicateLeaves(t *testing.T) {
	t.Parallel()
	for n := 1; n < 40; n++ {
		var once, twice ledger.Frontier
		for _, leaf := range leavesOf(n) {
			once.Add(leaf)
			twice.Add(leaf)
		}
		for repeat := 1; repeat <= n; repeat++ {
			twice.Add(leavesOf(n)[n-1])
			if once.Root() == twice.Root() {
				t.Errorf("%d leaves, and the last one %d more times, have one root", n, repeat)
			}
		}
	}
}

func TestShortReader(t *testing.T) {
	t.Parallel()
	short := tlog.HashReaderFunc(func([]int64) ([]ledger.Hash, error) { return nil, nil })
	if _, err := ledger.ProveInclusion(3, 9, short); err == nil {
		t.Error("an inclusion proof from nothing")
	}
	if _, err := ledger.ProveConsistency(3, 9, short); err == nil {
		t.Error("a consistency proof from nothing")
	}
	if _, err := ledger.FrontierOf(9, short); err == nil {
		t.Error("a frontier from nothing")
	}
}
