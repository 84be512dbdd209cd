package telemetry

import (
	"context"
	"fmt"
	"strings"

	"writ/internal/database"
	"writ/internal/telemetry/decode"
)

// ShadowPrefix is what the id of a policy stands behind in spans that tell what a
// shadow of it would have said. These are counted as other policy calls are, under
// that name; whoever counts denials leaves them out, for they denied nothing.
const ShadowPrefix = decode.ShadowPrefix

// shadowArrow is between what was said and what would have been.
const shadowArrow = ">"

// ShadowChange is the rule of such a span: what the active policies said, and what
// they would have said. Without an answer there is none.
func ShadowChange(active, would string) string {
	if would == "" {
		return ""
	}
	return active + shadowArrow + would
}

// ShadowFigures are what the shadows of a policy would have said.
type ShadowStats struct {
	Calls                        int64
	Allowed, Asked, Held, Denied int64 // would have been
	// WouldDeny are those of the denied that the active policies did not deny,
	// WouldHold those of the held that they did not hold, be it that they denied
	// them, and WouldAllow those of the allowed that they did not allow.
	WouldDeny, WouldHold, WouldAllow int64
}

// shadow adds up what shadows of a policy said.
func (s *Service) shadow(ctx context.Context, orgID, policyID string, from int64) (f ShadowStats, err error) {
	err = each(ctx, s.db, func(row database.Scanner) error {
		var change string
		var calls int64
		err := row.Scan(&change, &calls)
		f.add(change, calls)
		return err
	}, `
		SELECT rule_id, CAST(SUM(calls) AS BIGINT)
		FROM rollup_rule
		WHERE org_id = $1 AND policy_id = $2 AND bucket >= $3
		GROUP BY rule_id`, orgID, ShadowPrefix+policyID, from)
	if err != nil {
		return ShadowStats{}, fmt.Errorf("sum the shadows of a policy: %w", err)
	}
	return f, nil
}

func (f *ShadowStats) add(change string, calls int64) {
	active, would, ok := strings.Cut(change, shadowArrow)
	if !ok {
		return // it could not be asked
	}
	switch would {
	case "allow":
		f.Allowed += calls
		if active != would {
			f.WouldAllow += calls
		}
	case "ask":
		f.Asked += calls
	case "hold":
		f.Held += calls
		if active != would {
			f.WouldHold += calls
		}
	case "deny":
		f.Denied += calls
		if active != would {
			f.WouldDeny += calls
		}
	default:
		return
	}
	f.Calls += calls
}
