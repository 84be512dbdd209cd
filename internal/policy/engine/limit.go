package engine

import (
	"errors"
	"fmt"
	"time"

	"writ/internal/policy/document"
	"writ/internal/toolcall"
)

// measure is what a limit counts, and its maximum.
func measure(l *document.Limit) (unit Unit, max int64, ok bool) {
	given := 0
	for _, m := range []struct {
		unit Unit
		max  int64
	}{{Calls, l.Calls}, {Cost, l.Cost}, {Tokens, l.Tokens}} {
		if m.max > 0 {
			unit, max, given = m.unit, m.max, given+1
		}
	}
	return unit, max, given == 1
}

// usage is how much of a limit is used up, or why that cannot be read.
type usage struct {
	LimitUse
	err error
}

// counterOf is the counter that a call falls under. Callers without an id share one.
func counterOf(e *entry, call *toolcall.Call) LimitUse {
	limit := e.rule.Limit
	unit, max, _ := measure(limit)
	per := int64(limit.Per / time.Second)
	return LimitUse{Max: max, LimitKey: LimitKey{
		PolicyID: e.policy.ID,
		RuleID:   e.rule.ID,
		Unit:     unit,
		By:       limit.By,
		Subject:  subjectOf(limit.By, call),
		Window:   windowAt(call.Now.Unix(), per),
		Per:      per,
	}}
}

func subjectOf(by document.Subject, call *toolcall.Call) string {
	switch by {
	case document.Agent:
		return call.Agent.ID
	case document.Session:
		return call.Session.ID
	case document.User:
		return call.User.ID
	case document.Organization:
		return call.Org.ID
	}
	return ""
}

// windowAt is the last multiple of per that is not after the time.
func windowAt(unix, per int64) int64 {
	begun := unix % per
	if begun < 0 {
		begun += per
	}
	return unix - begun
}

var errNoCounters = errors.New("there are no counters")

func readUsage(spent Spent, e *entry, call *toolcall.Call) usage {
	u := usage{counterOf(e, call), errNoCounters}
	if spent != nil {
		u.Used, u.err = spent(u.LimitKey)
	}
	return u
}

// spent reports whether nothing is left. A limit that cannot be read is spent.
func (u usage) spent() bool { return u.err != nil || u.Used >= u.Max }

func (u usage) failure() error {
	if u.err != nil {
		return fmt.Errorf("read what is spent of the limit: %w", u.err)
	}
	return nil
}

// claim is what the call takes from the limit if it runs.
func (u usage) claim() (Claim, bool) {
	return Claim{LimitKey: u.LimitKey, Max: u.Max}, u.Unit == Calls && !u.spent()
}
