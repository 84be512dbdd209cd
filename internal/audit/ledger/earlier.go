package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// compare reads the checkpoints that were seen before, and refuses those the export
// cannot answer for.
func (v *verifier) compare(trust Trust, keys Keys) error {
	if trust.Earlier != "" {
		seen, err := OpenCheckpoint(trust.Earlier, keys)
		if err != nil {
			return fmt.Errorf("the earlier checkpoint: %w", err)
		}
		if err := v.isAnswered("the earlier checkpoint", seen); err != nil {
			return err
		}
		v.earlier = append(v.earlier, seen)
		v.report.Earlier = &Seen{Epoch: seen.Origin.Epoch, Size: seen.Size}
	}
	if trust.Witnessed != nil {
		if err := v.witness(trust.Witnessed, keys); err != nil {
			return err
		}
	}
	slices.SortFunc(v.earlier, func(a, b Checkpoint) int { return cmp.Compare(a.Size, b.Size) })
	return v.meetEarlier()
}

// older is what explains it, and is no tampering.
const older = "; or the export is older than that: export again, and verify the new one"

// isAnswered reports whether the export can be compared with a checkpoint.
func (v *verifier) isAnswered(what string, seen Checkpoint) error {
	now := v.target.Origin
	switch {
	case seen.Origin.Installation != now.Installation || seen.Origin.Log != now.Log:
		return fmt.Errorf("%s is of another log", what)
	case seen.Origin.Epoch > now.Epoch:
		return fmt.Errorf("%s is of a later epoch than the export%s", what, older)
	case seen.Origin.Epoch == now.Epoch && seen.Size > v.target.Size:
		return fmt.Errorf("the log has shrunk: %s covers %d entries, the export's %d%s", what, seen.Size, v.target.Size,
			older)
	case seen.Size < v.tree.size:
		return fmt.Errorf("the export begins at entry %d, after the %d entries of %s: export from %d or before",
			v.tree.size, seen.Size, what, seen.Size)
	}
	return nil
}

// witness takes what a witness has seen of this log, as far as it is in the export.
func (v *verifier) witness(checkpoints []string, keys Keys) error {
	for i, signed := range checkpoints {
		origin, err := OriginOf(signed)
		if err != nil {
			return fmt.Errorf("checkpoint %d of the witness: %w", i+1, err)
		}
		if origin.Installation != v.target.Origin.Installation || origin.Log != v.target.Origin.Log {
			continue
		}
		what := fmt.Sprintf("checkpoint %d of the witness", i+1)
		seen, err := OpenCheckpoint(signed, keys)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if seen.Size < v.tree.size {
			continue // before the export
		}
		if err := v.isAnswered(what, seen); err != nil {
			return err
		}
		v.earlier = append(v.earlier, seen)
		v.report.Compared++
		if w := v.report.Witnessed; w == nil || w.Epoch < origin.Epoch ||
			w.Epoch == origin.Epoch && w.Size < seen.Size {
			v.report.Witnessed = &Seen{Epoch: origin.Epoch, Size: seen.Size}
		}
	}
	if v.report.Witnessed == nil {
		return errors.New("the witness has seen no checkpoint of this log that covers what is in the export")
	}
	return nil
}

// meetEarlier compares with the earlier checkpoints of the tree's size.
func (v *verifier) meetEarlier() error {
	for v.gone == nil && len(v.earlier) > 0 && v.earlier[0].Size == v.tree.size {
		if v.tree.Root() != v.earlier[0].Root {
			return fmt.Errorf("the first %d entries are not those of the earlier checkpoint: the log was rewritten, or forked", v.tree.size)
		}
		v.earlier = v.earlier[1:]
	}
	return nil
}

// dropGone notes that a restore admits to have lost what an earlier checkpoint covers.
func (v *verifier) dropGone(restored Record) {
	for _, e := range v.earlier {
		if v.gone == nil && e.Origin.Epoch < restored.Epoch && e.Size > restored.Index {
			v.gone = &GoneError{From: restored.Index, Until: e.Size, Epoch: restored.Epoch}
		}
	}
}
