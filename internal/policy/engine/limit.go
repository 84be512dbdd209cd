package engine

import (
	"errors"
	"fmt"
	"time"

	"writ/internal/policy/document"
	"writ/internal/toolcall"
)

// measure is what a limit counts and how much of it there is.
func measure(l *document.Limit) (unit Unit, most int64, ok bool) {
	given := 0
	for _, m := range []struct {
		unit Unit
		most int64
	}{{Calls, l.Calls}, {Cost, l.Cost}, {Tokens, l.Tokens}} {
		if m.most > 0 {
			unit, most, given = m.unit, m.most, given+1
		}
	}
	return unit, most, given == 1
}

// keyOf names the counter that a call falls under. Callers without an id share
// one.
func keyOf(e *entry, call *toolcall.Call) (key LimitKey, most int64) {
	unit, most, _ := measure(e.rule.Limit)
	per := int64(e.rule.Limit.Per / time.Second)
	return LimitKey{
		PolicyID: e.policy.ID,
		RuleID:   e.rule.ID,
		Unit:     unit,
		By:       e.rule.Limit.By,
		Subject:  subjectOf(e.rule.Limit.By, call),
		Window:   windowAt(call.Now.Unix(), per),
		Per:      per,
	}, most
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

// used is how far a limit has been taken.
type used struct {
	key    LimitKey
	most   int64
	amount int64
	err    error
}

var errNoCounters = errors.New("there are no counters")

func ask(spent Spent, e *entry, call *toolcall.Call) used {
	u := used{err: errNoCounters}
	u.key, u.most = keyOf(e, call)
	if spent != nil {
		u.amount, u.err = spent(u.key)
	}
	return u
}

// spent reports whether nothing is left. What is not known is not left.
func (u used) spent() bool { return u.err != nil || u.amount >= u.most }

// failure is an error of the counter.
func (u used) failure() error {
	if u.err != nil {
		return fmt.Errorf("read what is spent of the limit: %w", u.err)
	}
	return nil
}

// claim is what the call takes from the limit if it runs.
func (u used) claim() (Claim, bool) {
	return Claim{LimitKey: u.key, Max: u.most}, u.key.Unit == Calls && !u.spent()
}
