package engine

import (
	"fmt"

	"writ/internal/verdict"
)

// noPolicy is the reason where no policy counts for the caller.
const noPolicy = "no active policy; activate one that counts for this caller"

var done = [...]string{
	verdict.Deny:  "denied",
	verdict.Hold:  "held for approval",
	verdict.Ask:   "left to the user",
	verdict.Allow: "allowed",
}

// reason is one sentence on why a rule decided.
func reason(e *entry, f finding) string {
	said := e.said
	switch {
	case f.limited && f.used.err != nil:
		return said + ", whose limit could not be read"
	case f.failed != nil:
		return said + ", whose condition failed: " + f.failed.Error()
	case f.limited && f.used.spent():
		return fmt.Sprintf("%s: its limit of %s is spent", said, limitText(f.used))
	}
	return said
}

// sentence is the reason without its details. It is made once for a rule: most
// decisions have no more to say.
func sentence(p *policy, r *rule) string {
	return done[r.Effect] + " by rule " + r.ID + " of policy " + p.name
}

func defaultReason(p *policy) string {
	return "no rule matches; " + done[p.fallback()] + " by default of policy " + p.name
}

func limitText(u used) string {
	if u.key.Unit == Cost {
		return fmt.Sprintf("%g US dollars", float64(u.most)/1e9)
	}
	return fmt.Sprintf("%d %s", u.most, u.key.Unit)
}
