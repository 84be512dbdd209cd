package scope_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"testing"

	"writ/internal/database"
	"writ/internal/intent/grounding"
	"writ/internal/intent/scope"
)

// TestProcessesAnswerAlikeAfterAnyOrder: a process that read only what was added answers as one that reads all.
func TestProcessesAnswerAlikeAfterAnyOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		for seed := range uint64(3) {
			e.key.Session = strconv.FormatUint(seed, 10)
			random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // repeatable
			var positions []int64
			var said int64
			for range grounding.MaxOutputs * 2 {
				_, decided := e.allow("find", "Dana")
				positions = append(positions, decided)
				if seed < 2 || random.IntN(8) > 0 { // an unknown output makes others useless
					_, reported := e.report(nil, "find", "Dana", e.answer(random))
					positions = append(positions, reported)
				}
				e.grounds("D-1")
				switch random.IntN(12) {
				case 0:
					said = e.say("Take D-9.")
				case 1:
					e.erase(said)
				case 2:
					e.erase(positions[random.IntN(len(positions))])
				}
				e.grounds("D-9")
			}
		}
	})
}

func (e *env) erase(position int64) {
	e.T.Helper()
	e.Write(e.key.OrgID, func(ctx context.Context, tx *database.Tx) error {
		return scope.Erase(ctx, tx, e.key.OrgID, []int64{position})
	})
}

func (e *env) answer(random *rand.Rand) string {
	if random.IntN(4) == 0 {
		return noise
	}
	return `[{"name":"Dana","id":"D-` + strconv.Itoa(random.IntN(3)) + `"}]`
}

func (e *env) say(text string) (position int64) {
	e.T.Helper()
	e.position++
	e.Write(e.key.OrgID, func(ctx context.Context, tx *database.Tx) error {
		return e.second.Say(ctx, tx, e.key, "", text, e.position)
	})
	return e.position
}
