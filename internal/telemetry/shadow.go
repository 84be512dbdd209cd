package telemetry

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"writ/internal/database"
	"writ/internal/telemetry/decode"
)

// ShadowPrefix precedes the policy's id in spans that say what its shadow would have decided. They are counted like
// other policy calls, under that id. Counts of denials leave them out, because they denied nothing.
const ShadowPrefix = decode.ShadowPrefix

// What separates the decision from what it would have been, and that from the version that would have given it.
const (
	shadowArrow   = ">"
	shadowVersion = "@"
)

// ShadowChange is the rule of such a span: the decision of the active policies, what it would have been, and by which
// version. It is empty if the shadow gave none.
func ShadowChange(active, would string, version int) string {
	if would == "" {
		return ""
	}
	return active + shadowArrow + would + shadowVersion + strconv.Itoa(version)
}

// ShadowStats is what the shadows of a policy would have decided.
type ShadowStats struct {
	Calls                        int64
	Allowed, Asked, Held, Denied int64 // by the shadow
	// WouldDeny counts the denied calls that the active policies did not deny, WouldHold the held ones that they did
	// not hold, even if they denied them, and WouldAllow the allowed ones that they did not allow.
	WouldDeny, WouldHold, WouldAllow int64
}

// shadow adds up what shadows of a policy decided: one version of it, or with 0 all.
func (s *Service) shadow(
	ctx context.Context, orgID, policyID string, version int, h hours,
) (f ShadowStats, err error) {
	err = each(ctx, s.db, func(row database.Scanner) error {
		var rule string
		var calls int64
		err := row.Scan(&rule, &calls)
		change, of, _ := strings.Cut(rule, shadowVersion)
		if version == 0 || of == strconv.Itoa(version) {
			f.add(change, calls)
		}
		return err
	}, `
		SELECT rule_id, CAST(SUM(calls) AS BIGINT)
		FROM rollup_rule
		WHERE org_id = $1 AND policy_id = $2 AND bucket >= $3 AND bucket < $4
		GROUP BY rule_id`, orgID, ShadowPrefix+policyID, h.first, h.end)
	if err != nil {
		return ShadowStats{}, fmt.Errorf("sum the shadows of a policy: %w", err)
	}
	return f, nil
}

func (f *ShadowStats) add(change string, calls int64) {
	active, would, ok := strings.Cut(change, shadowArrow)
	if !ok {
		return // the shadow gave no decision
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
