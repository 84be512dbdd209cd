package policy

import (
	"fmt"

	"writ/internal/policy/engine"
)

// judged is the active and the shadow policies of an organization, not compiled.
type judged struct {
	active   []engine.Active
	profiles []string // ids of the active policies that are profiles
	shadowed []shadowed
}

// shadowed is a policy with a shadow. Version is the shadow's.
type shadowed struct {
	engine.Active
	profile bool
	broken  bool // its bindings cannot be read
}

func (s shadowed) part() part { return part{s.ID, s.Version} }

// groupJudged gathers the rows of each policy. It fails if an active policy is broken; a shadow is only marked.
func groupJudged(rows []judgedRow) (judged, error) {
	var all judged
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].id == rows[0].id {
			n++
		}
		if err := all.add(rows[:n]); err != nil {
			return judged{}, fmt.Errorf("policy %s: %w", rows[0].id, err)
		}
		rows = rows[n:]
	}
	return all, nil
}

// add adds the rows of one policy.
func (j *judged) add(rows []judgedRow) error {
	bindings, err := bindingsOf(rows)
	first := rows[0]
	if first.version != 0 {
		if err != nil {
			return err
		}
		j.active = append(j.active, engine.Active{ID: first.id, Version: first.version, Bindings: bindings})
		if first.face == AsProfile {
			j.profiles = append(j.profiles, first.id)
		}
	}
	if first.shadow != 0 {
		j.shadowed = append(j.shadowed, shadowed{
			Active:  engine.Active{ID: first.id, Version: first.shadow, Bindings: bindings},
			profile: first.face == AsProfile, broken: err != nil,
		})
	}
	return nil
}

func bindingsOf(rows []judgedRow) (engine.Bindings, error) {
	var b Bindings
	for _, row := range rows {
		if row.kind == "" {
			continue
		}
		if err := b.add(row.boundRow); err != nil {
			return engine.Bindings{}, err
		}
	}
	return b.forEngine(), nil
}
