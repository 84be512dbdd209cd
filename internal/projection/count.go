package projection

import (
	"context"

	"writ/internal/decision"
	"writ/internal/telemetry"
)

// earlierAtOnce is how many slices of earlier decisions one run counts for an organization, so that others do not wait.
const earlierAtOnce = 20

// counted is what telemetry counts of decisions.
func counted(decisions []decision.Record) []telemetry.Decided {
	all := make([]telemetry.Decided, len(decisions))
	for i := range decisions {
		d := &decisions[i]
		all[i] = telemetry.Decided{
			At:        d.At,
			Index:     d.Index,
			Agent:     d.AgentID,
			Server:    d.Server,
			Tool:      d.Tool,
			Verdict:   d.Verdict.String(),
			DecidedBy: d.PolicyID,
			Rule:      d.Rule,
		}
	}
	return all
}

// countEarlier counts decisions from before telemetry counted any, backwards, and reports whether none are left.
func (p *Projector) countEarlier(ctx context.Context, log string, at telemetry.Position) (done bool, err error) {
	for range earlierAtOnce {
		if at.Counted == 0 {
			return true, nil
		}
		decisions, err := decision.ReadBefore(ctx, p.db, log, at.Counted, slice)
		if err != nil {
			return false, err
		}
		back := int64(0)
		if n := len(decisions); n == slice && p.telemetry.Kept(decisions[n-1].At) {
			back = decisions[n-1].Index
		}
		moved, err := p.telemetry.CountEarlier(ctx, log, at, back, counted(decisions))
		if err != nil || !moved {
			return false, err
		}
		at.Counted = back
	}
	return at.Counted == 0, nil
}
