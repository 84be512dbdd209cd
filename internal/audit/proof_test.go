package audit_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"writ/internal/audit"
	"writ/internal/audit/ledger"
	"writ/internal/database"
	"writ/internal/database/dbtest"
	"writ/internal/fault"
)

// TestProofsFromTiles asks for proofs on both sides of every border of a tile.
func TestProofsFromTiles(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		fill(t, db, s.Log, "other", 0, 3)
		fill(t, db, s.Log, "org", 0, 777)
		roots := map[int64]ledger.Hash{}
		leaves := map[int64]ledger.Hash{}
		var tree ledger.Frontier
		entries, err := audit.ReadEntries(t.Context(), db, "org", 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			tree.Add(e.Leaf)
			leaves[e.Index], roots[tree.Size()] = e.Leaf, tree.Root()
		}
		sizes := []int64{1, 2, 255, 256, 257, 511, 512, 513, 768, 776, 777}
		for _, size := range sizes {
			for _, index := range []int64{0, 1, 254, 255, 256, 257, 511, 512, 767, 768, 776} {
				if index >= size {
					continue
				}
				proof, err := s.InclusionProof(t.Context(), "org", index, size)
				if err == nil {
					err = ledger.CheckInclusion(proof, index, leaves[index], size, roots[size])
				}
				if err != nil {
					t.Errorf("entry %d of %d: %v", index, size, err)
				}
			}
			for _, old := range sizes {
				if old > size {
					continue
				}
				proof, err := s.ConsistencyProof(t.Context(), "org", old, size)
				if err == nil {
					err = ledger.CheckConsistency(proof, old, roots[old], size, roots[size])
				}
				if err != nil {
					t.Errorf("%d to %d: %v", old, size, err)
				}
			}
		}
		for _, index := range []int64{0, 255, 256, 700, 776} {
			entry, receipt, err := s.Entry(t.Context(), "org", index)
			if err == nil {
				_, err = receipt.CheckRecord([]byte(entry.Record), keysOf(t, s))
			}
			if err != nil {
				t.Errorf("entry %d: %v", index, err)
			}
		}
	})
}

func TestProofsRefuse(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := open(t, db)
		fill(t, db, s.Log, "org", 0, 10)
		ctx := t.Context()
		for name, c := range map[string]struct {
			call func() error
			want fault.Kind
		}{
			"an entry beyond": {
				func() error { _, _, err := s.Entry(ctx, "org", 10); return err }, fault.NotFound,
			},
			"a negative entry": {
				func() error { _, _, err := s.Entry(ctx, "org", -1); return err }, fault.NotFound,
			},
			"a log of nobody": {
				func() error { _, _, err := s.Entry(ctx, "none", 0); return err }, fault.NotFound,
			},
			"its checkpoint": {
				func() error { _, err := s.Checkpoint(ctx, "none"); return err }, fault.NotFound,
			},
			"its export": {
				func() error { return s.Export(ctx, nil, "none", audit.ExportOptions{}) }, fault.NotFound,
			},
			"an export from beyond": {
				func() error { return s.Export(ctx, nil, "org", audit.ExportOptions{Since: 11}) }, fault.Invalid,
			},
			"an export from before": {
				func() error { return s.Export(ctx, nil, "org", audit.ExportOptions{Since: -1}) }, fault.Invalid,
			},
			"a size beyond": {
				func() error { _, err := s.InclusionProof(ctx, "org", 1, 11); return err }, fault.Invalid,
			},
			"a size of nothing": {
				func() error { _, err := s.InclusionProof(ctx, "org", 0, 0); return err }, fault.Invalid,
			},
			"an index beyond a size": {
				func() error { _, err := s.InclusionProof(ctx, "org", 5, 5); return err }, fault.Invalid,
			},
			"an older that is newer": {
				func() error { _, err := s.ConsistencyProof(ctx, "org", 6, 5); return err }, fault.Invalid,
			},
			"the largest size": {
				func() error { _, err := s.ConsistencyProof(ctx, "org", 6, 1<<63-1); return err }, fault.Invalid,
			},
		} {
			if err := c.call(); fault.KindOf(err) != c.want {
				t.Errorf("%s: %v, want %s", name, err, c.want)
			}
		}
	})
}

// TestTilesOfAnOlderLog is a log that grew before there were tiles.
func TestTilesOfAnOlderLog(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		fill(t, db, open(t, db).Log, "org", 0, 700)
		remove(t, db, `DELETE FROM audit_tile`)
		s := open(t, db)
		fill(t, db, s.Log, "org", 700, 100)
		for _, index := range []int64{3, 300, 799} {
			if _, _, err := s.Entry(t.Context(), "org", index); err != nil {
				t.Errorf("entry %d: %v", index, err)
			}
		}
	})
}

// TestAlteredStorage changes what is stored behind our back: no proof is given
// for it, and an export of it does not verify.
func TestAlteredStorage(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"a record":         `UPDATE audit_entry SET record = REPLACE(record, 'deny', 'allow') WHERE position = 1`,
		"an entry removed": `DELETE FROM audit_entry WHERE position = 1`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				s := open(t, db)
				fill(t, db, s.Log, "org", 0, 300)
				remove(t, db, statement)
				if _, _, err := s.Entry(t.Context(), "org", 1); err == nil {
					t.Error("it is proved")
				}
				var out bytes.Buffer
				err := s.Export(t.Context(), &out, "org", audit.ExportOptions{})
				if err == nil {
					_, err = ledger.Verify(&out, ledger.Trust{Keys: keysOf(t, s)})
				}
				if err == nil {
					t.Error("its export verifies")
				}
			})
		})
	}
}

// remove runs a statement as someone with the database's password would.
func remove(t *testing.T, db *database.DB, statement string) {
	t.Helper()
	err := db.Write(t.Context(), database.Change{Do: func(ctx context.Context, tx *database.Tx) error {
		changed, err := tx.Exec(ctx, statement)
		if err == nil && changed == 0 {
			err = fmt.Errorf("%s changed nothing", statement)
		}
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
}
