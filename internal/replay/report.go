package replay

import (
	"cmp"
	"slices"
	"time"

	"writ/internal/decision"
)

// Limits of a report.
const (
	maxChanges  = 500 // kinds of calls whose answer changes
	maxExamples = 3   // of each
)

// Report is what a replay found.
type Report struct {
	Counts  Counts   `json:"counts"`
	Changes []Change `json:"changes"`
	// LeftOut counts calls whose answer changes, of kinds that are not listed.
	LeftOut int64 `json:"leftOut"`
}

// Counts are the numbers of a replay. Calls about which policies did not decide are
// counted apart and in none of the others.
type Counts struct {
	Decisions int64 `json:"decisions"`
	Judged    int64 `json:"judged"`

	Intent int64 `json:"intent"` // apart: the call was not in its plan
	Agent  int64 `json:"agent"`  // apart: the agent, its key or the MCP server was not valid
	Failed int64 `json:"failed"` // apart: it could not be judged

	// Of those judged: what was missing from the record.
	Erased   int64 `json:"erased"`
	Redacted int64 `json:"redacted"`
	NotKept  int64 `json:"notKept"`

	Recorded map[Answer]int64 `json:"recorded"` // the recorded answers of policies or people
	Today    map[Answer]int64 `json:"today"`    // what the policies of today say
	Drafted  map[Answer]int64 `json:"drafted"`  // and with the draft in place

	// Against today, where both are known.
	Stricter  int64 `json:"stricter"`
	Looser    int64 `json:"looser"`
	Unchanged int64 `json:"unchanged"`
	// Unknown: either is.
	Unknown int64 `json:"unknown"`
}

// Change is a kind of calls whose answer changes: against today, or against what
// was recorded.
type Change struct {
	Agent  string `json:"agent"`
	Server string `json:"server"`
	Tool   string `json:"tool"`

	Recorded Answer `json:"recorded"`
	Today    Answer `json:"today"`
	Drafted  Answer `json:"drafted"`

	// What decides with the draft in place; empty: unknown, or no policy applies.
	PolicyID      string `json:"policyId"`
	PolicyVersion int    `json:"policyVersion"`
	Rule          string `json:"rule"`

	Count    int64     `json:"count"`
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	Examples []Example `json:"examples"`
}

// Example is one such decision.
type Example struct {
	DecisionID string    `json:"decisionId"`
	Index      int64     `json:"index"` // in the audit log
	At         time.Time `json:"at"`
}

// kind groups changes.
type kind struct {
	agent, server, tool      string
	recorded, today, drafted Answer
	policyID, rule           string
}

// tally gathers a report.
type tally struct {
	counts  Counts
	changes map[kind]*Change
	leftOut int64
}

func newTally() *tally {
	return &tally{
		counts:  Counts{Recorded: map[Answer]int64{}, Today: map[Answer]int64{}, Drafted: map[Answer]int64{}},
		changes: map[kind]*Change{},
	}
}

// apart counts a decision that policies did not make.
func (t *tally) apart(because why) {
	switch because {
	case byIntent:
		t.counts.Intent++
	case byAgent, byServer:
		t.counts.Agent++
	default:
		t.counts.Failed++
	}
}

func (t *tally) missing(known Known) {
	if known.Erased {
		t.counts.Erased++
	}
	if known.Redacted {
		t.counts.Redacted++
	}
	if known.NotKept {
		t.counts.NotKept++
	}
}

// add counts a call that was judged.
func (t *tally) add(r *decision.Record, change Change) {
	t.counts.Judged++
	t.counts.Recorded[change.Recorded]++
	t.counts.Today[change.Today]++
	t.counts.Drafted[change.Drafted]++
	switch before, after := strictness(change.Today), strictness(change.Drafted); {
	case before < 0 || after < 0:
		t.counts.Unknown++
	case after < before:
		t.counts.Stricter++
	case after > before:
		t.counts.Looser++
	default:
		t.counts.Unchanged++
	}
	if change.changes() {
		t.keep(r, change)
	}
}

// changes reports whether the answer differs from today's or from the recorded one. A
// person's answer is not compared.
func (c *Change) changes() bool {
	return c.Drafted != c.Today || strictness(c.Recorded) >= 0 && strictness(c.Drafted) >= 0 && c.Drafted != c.Recorded
}

// strictness orders the answers that are known, strictest first.
func strictness(a Answer) int {
	return slices.Index([]Answer{"deny", "hold", "ask", Confined, "allow"}, a)
}

func (t *tally) keep(r *decision.Record, change Change) {
	key := kind{
		change.Agent, change.Server, change.Tool, change.Recorded, change.Today, change.Drafted, change.PolicyID,
		change.Rule,
	}
	kept := t.changes[key]
	if kept == nil {
		if len(t.changes) >= maxChanges {
			t.leftOut++
			return
		}
		change.First = r.At
		kept = &change
		t.changes[key] = kept
	}
	kept.Count++
	kept.Last = r.At
	if len(kept.Examples) < maxExamples {
		kept.Examples = append(kept.Examples, Example{DecisionID: r.ID, Index: r.Index, At: r.At})
	}
}

// report is what was gathered, the most frequent changes first.
func (t *tally) report() Report {
	report := Report{Counts: t.counts, Changes: []Change{}, LeftOut: t.leftOut}
	for _, change := range t.changes {
		report.Changes = append(report.Changes, *change)
	}
	slices.SortFunc(report.Changes, func(a, b Change) int {
		return cmp.Or(
			cmp.Compare(b.Count, a.Count), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Server, b.Server),
			cmp.Compare(a.Tool, b.Tool),
			cmp.Compare(a.Recorded, b.Recorded), cmp.Compare(a.Today, b.Today), cmp.Compare(a.Drafted, b.Drafted),
			cmp.Compare(a.PolicyID, b.PolicyID), cmp.Compare(a.Rule, b.Rule),
		)
	})
	return report
}
