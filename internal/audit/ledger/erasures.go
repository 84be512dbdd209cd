package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// The subjects of erasure entries. An Erased entry is about one entry, a Retired entry
// about ranges of them; an older Retired entry is about the log, and its payload names
// the instant before which payloads were erased.
const (
	SubjectEntry   = "entry"
	SubjectEntries = "entries"
)

// Range is a run of entries, the last one included.
type Range struct{ First, Last int64 }

// String is 7, or 3-17.
func (r Range) String() string {
	if r.First == r.Last {
		return strconv.FormatInt(r.First, 10)
	}
	return strconv.FormatInt(r.First, 10) + "-" + strconv.FormatInt(r.Last, 10)
}

// Ranges gives ascending indexes as runs.
func Ranges(indexes []int64) []Range {
	var runs []Range
	for _, index := range indexes {
		if n := len(runs); n > 0 && runs[n-1].Last == index-1 {
			runs[n-1].Last = index
			continue
		}
		runs = append(runs, Range{index, index})
	}
	return runs
}

// RangesText is ranges as the id of a subject: 3-17,19.
func RangesText(ranges []Range) string {
	texts := make([]string, len(ranges))
	for i, r := range ranges {
		texts[i] = r.String()
	}
	return strings.Join(texts, ",")
}

var errNoRanges = errors.New("the entry about erased payloads does not name ranges of earlier entries")

// parseRanges reads what RangesText gives: ascending, apart, and all before an entry.
func parseRanges(text string, before int64) ([]Range, error) {
	var ranges []Range
	next := int64(0)
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRun := strings.Cut(part, "-")
		if !isRun {
			last = first
		}
		from, err := strconv.ParseInt(first, 10, 64)
		until, err2 := strconv.ParseInt(last, 10, 64)
		r := Range{from, until}
		if err != nil || err2 != nil || from < next || until < from || until >= before || r.String() != part {
			return nil, errNoRanges
		}
		ranges, next = append(ranges, r), until+1
	}
	return ranges, nil
}

// minute is the length of time that a run of missing payloads spans at most, in
// microseconds: the cut-off of an older Retired entry is compared with runs.
const minute = 60_000_000

// missingRun is a run of entries whose payloads are gone.
type missingRun struct {
	Range
	time int64 // of the first
}

// Erasures compares the payloads that are gone with the entries that say so, in the
// order of the log. It holds 24 bytes for each run that no entry has accounted for yet.
type Erasures struct {
	missing []missingRun
	cutOff  int64 // the latest of those that were applied
}

// Missing takes an entry whose payload is gone.
func (e *Erasures) Missing(r *Record) error {
	if AboutLog(r.Action) {
		return fmt.Errorf("the payload of entry %d is gone, which is about the log itself and never erased", r.Index)
	}
	if n := len(e.missing); n > 0 && e.missing[n-1].Last == r.Index-1 {
		if run := &e.missing[n-1]; run.time/minute == r.Time/minute {
			run.Last = r.Index
			return nil
		}
	}
	e.missing = append(e.missing, missingRun{Range{r.Index, r.Index}, r.Time})
	return nil
}

// Account takes an entry, perhaps one about an erasure, with its payload.
func (e *Erasures) Account(r *Record, payload []byte) error {
	switch r.Action {
	case Erased:
		index, err := strconv.ParseInt(r.Subject.ID, 10, 64)
		if err != nil || r.Subject.Type != SubjectEntry || index < 0 || index >= r.Index {
			return errNoRanges
		}
		e.remove(Range{index, index})
	case Retired:
		if r.Subject.Type != SubjectEntries {
			return e.retiredBefore(payload)
		}
		ranges, err := parseRanges(r.Subject.ID, r.Index)
		if err != nil {
			return err
		}
		for _, gone := range ranges {
			e.remove(gone)
		}
	}
	return nil
}

// retiredBefore accounts by the cut-off of an older Retired entry, to the minute.
func (e *Erasures) retiredBefore(payload []byte) error {
	var about struct {
		Before int64 `json:"before"`
	}
	if json.Unmarshal(payload, &about) != nil || about.Before == 0 {
		return errNoRanges
	}
	if about.Before <= e.cutOff && (len(e.missing) == 0 || e.missing[0].time >= about.Before) {
		return nil
	}
	e.cutOff = max(e.cutOff, about.Before)
	e.missing = slices.DeleteFunc(e.missing, func(run missingRun) bool { return run.time < about.Before })
	return nil
}

// remove accounts for a range: what is missing of it is no longer unaccounted for.
func (e *Erasures) remove(gone Range) {
	from, _ := slices.BinarySearchFunc(e.missing, gone.First, func(run missingRun, first int64) int {
		if run.Last < first {
			return -1
		}
		return 1
	})
	until := from
	var left []missingRun
	for ; until < len(e.missing) && e.missing[until].First <= gone.Last; until++ {
		run := e.missing[until]
		if run.First < gone.First {
			left = append(left, missingRun{Range{run.First, gone.First - 1}, run.time})
		}
		if run.Last > gone.Last {
			left = append(left, missingRun{Range{gone.Last + 1, run.Last}, run.time})
		}
	}
	if from == 0 && len(left) == 0 {
		e.missing = e.missing[until:] // the usual case: the oldest go first
		return
	}
	e.missing = slices.Replace(e.missing, from, until, left...)
}

// Unaccounted are the payloads that are gone without an entry that says so.
func (e *Erasures) Unaccounted() []Range {
	ranges := make([]Range, len(e.missing))
	for i, run := range e.missing {
		ranges[i] = run.Range
	}
	return ranges
}

// UnaccountedError names payloads that are gone although no entry says that they were
// erased.
type UnaccountedError struct{ Ranges []Range }

// maxNamed is how many ranges an error names.
const maxNamed = 10

func (e *UnaccountedError) Error() string {
	named, more := RangesText(e.Ranges[:min(len(e.Ranges), maxNamed)]), ""
	if len(e.Ranges) > maxNamed {
		more = fmt.Sprintf(" and %d other ranges", len(e.Ranges)-maxNamed)
	}
	what := fmt.Sprintf("the payloads of entries %s%s are gone, and no entry of the log says that they were erased",
		named, more)
	if len(e.Ranges) == 1 && e.Ranges[0].First == e.Ranges[0].Last {
		what = fmt.Sprintf("the payload of entry %s is gone, and no entry of the log says that it was erased", named)
	}
	return what + " (if somebody erased payloads while the export was made, export again)"
}
