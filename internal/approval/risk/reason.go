package risk

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"writ/internal/toolclass"
)

// points are the weights of the reasons. All are positive, so that no reason lowers
// the level.
var points = map[string]int{
	"class_shell":   40,
	"class_money":   40,
	"class_secrets": 40,
	"class_delete":  30,
	"class_send":    25,
	"class_write":   15,
	"class_unknown": 15,

	"amount_far_above": 30,
	"amount_above":     15,
	"amount_new":       5,

	"first_tool":     10,
	"first_argument": 10,
	"first_value":    20,

	"label_sensitive":  15,
	"label_untrusted":  25,
	"sensitive_leaves": 15,

	"secret_in_arguments": 15,
	"arguments_unseen":    20,
	"arguments_unclear":   20,

	"no_plan":        5,
	"plan_unchecked": 5,
	"outside_plan":   35,
	"drifted_before": 15,

	"rejected_before": 20,
	"rejected_often":  20,
	"burst":           10,
	"night_burst":     15,
}

func (t *tally) class(c toolclass.Class) {
	if verb := c.Verb(); verb != "" {
		t.add("class_"+string(c), "the tool "+verb)
	}
}

// enough is how many amounts make a history.
const enough = 3

// amount compares the amount with the caller's earlier ones. The currency is unknown,
// so no amount is large by itself.
func (t *tally) amount(amount *float64, past Past) {
	if amount == nil {
		return
	}
	if len(past.Amounts) < enough {
		t.add("amount_new", "it moves "+number(*amount)+", and there are too few earlier amounts to compare with")
		return
	}
	before := slices.Sorted(slices.Values(past.Amounts))
	middle, most := median(before), before[len(before)-1]
	switch {
	case *amount <= most:
	case *amount >= 10*middle:
		t.add("amount_far_above", fmt.Sprintf("the amount %s is at least ten times the usual %s", number(*amount),
			number(middle)))
	default:
		t.add("amount_above", fmt.Sprintf("the amount %s is above all of the last %d, of which the largest was %s",
			number(*amount), len(before), number(most)))
	}
}

// median is the middle of sorted numbers, of which there is at least one.
func median(sorted []float64) float64 {
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return sorted[half-1]/2 + sorted[half]/2
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// novelty finds what this caller has not done before. If it never ran the tool,
// there is nothing to compare.
func (t *tally) novelty(f Facts, args arguments) {
	if f.Past.Ran == 0 {
		words := "this caller has not run this tool before"
		if f.Past.Looked == 1 {
			words += ", according to the last decision about it"
		} else if f.Past.Looked > 0 {
			words += fmt.Sprintf(", according to the last %d decisions about it", f.Past.Looked)
		}
		t.add("first_tool", words)
		return
	}
	if fresh := missing(args.names, f.Past.Names); len(fresh) > 0 {
		t.add("first_argument", "arguments that were not used before: "+list(fresh))
	}
	var fresh []string
	for _, v := range args.values {
		if !f.Past.Values[v.key()] && !slices.Contains(fresh, v.name) {
			fresh = append(fresh, v.name)
		}
	}
	if len(fresh) > 0 {
		t.add("first_value", "a recipient, place or address that was not used before: "+list(fresh))
	}
}

func missing(names []string, known map[string]bool) (fresh []string) {
	for _, name := range names {
		if !known[name] {
			fresh = append(fresh, name)
		}
	}
	return fresh
}

// Words of labels.
var (
	sensitiveWords = toolclass.NewSet("secret secrets confidential restricted sensitive private personal pii phi health medical patient pci card financial payroll salary credential credentials gdpr hipaa classified proprietary")
	untrustedWords = toolclass.NewSet("untrusted external tainted web internet injected injection unverified suspicious attacker third")
)

// labels judges what the client says about the data that led to the call.
func (t *tally) labels(labels []string, class toolclass.Class) {
	var sensitive, untrusted []string
	for _, label := range labels {
		words := toolclass.Words(label)
		if sensitiveWords.HasAny(words) {
			sensitive = append(sensitive, label)
		}
		if untrustedWords.HasAny(words) {
			untrusted = append(untrusted, label)
		}
	}
	if len(sensitive) > 0 {
		t.add("label_sensitive", "it carries sensitive data: "+list(sensitive))
	}
	if len(untrusted) > 0 {
		t.add("label_untrusted", "it follows untrusted content: "+list(untrusted))
	}
	if len(sensitive) > 0 && class.Leaves() {
		t.add("sensitive_leaves", "sensitive data would leave: the tool "+class.Verb())
	}
}

func (t *tally) arguments(f Facts, args arguments) {
	if args.secret {
		t.add("secret_in_arguments", "an argument holds what looks like a password, token or key")
	}
	if f.Unstated {
		t.add("arguments_unseen", "nobody has seen the arguments")
	} else if f.Unseen {
		t.add("arguments_unseen", "the arguments are too long to be shown")
	}
	if args.unclear {
		t.add("arguments_unclear", "the arguments have too many parts to be checked")
	}
}

func (t *tally) plan(p Plan, past Past) {
	switch p {
	case NoPlan:
		t.add("no_plan", "the agent has declared no plan")
	case PlanUnchecked:
		t.add("plan_unchecked", "the client names a plan, but the call was not checked against it")
	case OutsidePlan:
		t.add("outside_plan", "the call is not in the plan that the agent declared")
	}
	if past.Drifted > 0 {
		t.add("drifted_before", "the caller tried this tool "+times(past.Drifted)+" outside of its plan within a day")
	}
}

// Behaviour that stands out.
const (
	often      = 3
	burst      = 5
	nightFrom  = 22 // hours, UTC
	nightUntil = 6
)

func (t *tally) behavior(f Facts) {
	if f.Rejected > 0 {
		t.add("rejected_before", fmt.Sprintf("people rejected this tool %s within a day", times(f.Rejected)))
	}
	if f.Rejected >= often {
		t.add("rejected_often", "the caller keeps asking after rejections")
	}
	if f.Opened < burst {
		return
	}
	t.add("burst", fmt.Sprintf("the caller opened %d other requests within %d minutes", f.Opened,
		int(BurstWindow/time.Minute)))
	if hour := f.At.UTC().Hour(); hour >= nightFrom || hour < nightUntil {
		t.add("night_burst", "it did so at night, at "+f.At.UTC().Format("15:04")+" UTC")
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return strconv.Itoa(n) + " times"
}

// Limits of the names in a reason: agents choose them.
const (
	maxListed = 5
	maxWord   = 60
)

// list shows the first few names, sorted, each cut to maxWord.
func list(names []string) string {
	names = slices.Compact(slices.SortedFunc(slices.Values(names), cmp.Compare))
	rest := ""
	if len(names) > maxListed {
		rest = fmt.Sprintf(" and %d more", len(names)-maxListed)
		names = names[:maxListed]
	}
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = printable(name)
	}
	return strings.Join(shown, ", ") + rest
}

// printable replaces characters that change how the text around a name reads.
func printable(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(name, "?"))
	if runes := []rune(name); len(runes) > maxWord {
		return string(runes[:maxWord]) + "…"
	}
	return name
}
