package scan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"writ/internal/mcp/scan"
	"writ/internal/mcp/source"
)

// What the corpus demands: enough of the bad definitions are found, and few clean ones are taken for bad ones. A
// finding counts from Medium on.
const (
	leastRecall      = 0.95
	mostFalseAlarms  = 0.01
	leastDefinitions = 300 // of each kind
)

// expected are the rules by which the definitions of a class are found. A class without an entry may be found by any.
var expected = map[string][]string{
	"override":     {"instruction-override"},
	"secrecy":      {"instruction-secrecy", "exfiltration-text"},
	"files":        {"request-file", "request-secret", "exfiltration-text"},
	"secrets":      {"request-secret"},
	"context":      {"request-context", "exfiltration-text"},
	"exfiltration": {"exfiltration-text", "instruction-sequence", "request-context"},
	"parameters":   {"exfiltration-parameter"},
	"annotations":  {"annotation-contradiction"},
	"shadowing":    {"tool-shadowing", "name-collision", "name-lookalike"},
	"connection": {
		"connection-plain-http", "connection-no-auth", "connection-secret", "command-download", "command-broad",
	},
	"broad":    {"tool-broad", "tool-misnamed"},
	"flows":    {"toxic-flow"},
	"tags":     {"hidden-tags"},
	"terminal": {"hidden-control"},
	"padding":  {"hidden-padding"},
	"rotated":  {"hidden-encoding"},
	"base64":   {"hidden-encoding"},
	"hex":      {"hidden-encoding"},
	"escapes":  {"hidden-encoding"},
}

// entry is a definition of a corpus.
type entry struct {
	class string
	line  int
	raw   []byte
}

func (e entry) String() string { return fmt.Sprintf("%s:%d %.200s", e.class, e.line, e.raw) }

// corpus reads the definitions of a group: files of a class each, with one definition per line.
func corpus(t testing.TB, folder, group string) (entries []entry) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, group, "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		class := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		for i, line := range bytes.Split(text, []byte("\n")) {
			if len(bytes.TrimSpace(line)) > 0 {
				entries = append(entries, entry{class, i + 1, line})
			}
		}
	}
	return entries
}

// alarms are the findings about a definition that a person should look at.
func alarms(t testing.TB, e entry) (ids []string) {
	t.Helper()
	settings, err := source.Read(e.raw)
	if err != nil {
		t.Fatalf("%s: %v", e, err)
	}
	for _, f := range scan.Config(settings).Findings {
		if f.Severity >= scan.Medium {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// score is how many definitions of a class are found.
type score struct{ found, all int }

func (s score) rate() float64 { return float64(s.found) / float64(max(s.all, 1)) }

// scores scans a group, and lists what does not count as it should.
func scores(t testing.TB, entries []entry, bad bool) (total score, byClass map[string]*score) {
	t.Helper()
	byClass = map[string]*score{}
	for _, e := range entries {
		class := byClass[e.class]
		if class == nil {
			class = &score{}
			byClass[e.class] = class
		}
		ids := alarms(t, e)
		found := len(ids) > 0
		if want := expected[e.class]; bad && want != nil {
			found = slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(want, id) })
		}
		class.all++
		total.all++
		if found {
			class.found++
			total.found++
		}
		if found != bad {
			t.Logf("as it should not be: %v %s", ids, e)
		}
	}
	return total, byClass
}

// logScores prints how many definitions are found.
func logScores(t testing.TB, group string, total score, byClass map[string]*score) {
	t.Helper()
	t.Logf("%-12s %4d of %4d  %.3f", group, total.found, total.all, total.rate())
	for class, s := range byClass {
		t.Logf("  %-14s %4d of %4d  %.3f", class, s.found, s.all, s.rate())
	}
}

// TestCorpus: poisoned definitions are found, and honest ones are not taken for poisoned ones.
func TestCorpus(t *testing.T) {
	t.Parallel()
	bad := 0
	for _, group := range []string{"explicit", "obfuscated"} {
		total, byClass := scores(t, corpus(t, "corpus", group), true)
		logScores(t, group, total, byClass)
		bad += total.all
		if total.rate() < leastRecall {
			t.Errorf("%s: %.3f are found, want %.2f", group, total.rate(), leastRecall)
		}
	}
	clean, byClass := scores(t, corpus(t, "corpus", "clean"), false)
	logScores(t, "clean", clean, byClass)
	if clean.rate() > mostFalseAlarms {
		t.Errorf("%.3f of the clean definitions are taken for bad ones, want at most %.2f", clean.rate(),
			mostFalseAlarms)
	}
	if bad < leastDefinitions || clean.all < leastDefinitions {
		t.Errorf("the corpus has %d bad and %d clean definitions, want %d of each", bad, clean.all, leastDefinitions)
	}
}

// TestPlainEnglish prints how many definitions are found that mislead a model in plain words. Few are, and
// none must be.
func TestPlainEnglish(t *testing.T) {
	t.Parallel()
	total, byClass := scores(t, corpus(t, "corpus", "semantic"), true)
	logScores(t, "semantic", total, byClass)
	if total.all == 0 {
		t.Error("there are no definitions")
	}
}

// half are the definitions of a corpus that rules may be tuned on, or those that are held out: every second line.
func half(entries []entry, heldOut bool) (some []entry) {
	for _, e := range entries {
		if (e.line%2 == 0) == heldOut {
			some = append(some, e)
		}
	}
	return some
}

// TestThirdCorpus holds the half of the third corpus on which the rules were tuned, and prints the half that was held
// out, which flatters less: testdata/third/README.md. The latter demands nothing that tuning could buy.
func TestThirdCorpus(t *testing.T) {
	t.Parallel()
	for _, heldOut := range []bool{false, true} {
		name := map[bool]string{false: "third, tuned ", true: "third, held out "}[heldOut]
		for _, group := range []string{"explicit", "obfuscated", "clean"} {
			total, byClass := score{}, map[string]*score{}
			for _, e := range half(corpus(t, "third", group), heldOut) {
				if byClass[e.class] == nil {
					byClass[e.class] = &score{}
				}
				count(t, e, group != "clean", !heldOut, &total, byClass[e.class])
			}
			logScores(t, name+group, total, byClass)
			switch {
			case total.all < leastThird:
				t.Errorf("%s%s: only %d definitions", name, group, total.all)
			case heldOut:
			case group == "clean" && total.rate() > mostFalseAlarms, group != "clean" && total.rate() < leastRecall:
				t.Errorf("%s%s: %.3f", name, group, total.rate())
			}
		}
	}
}

// leastThird are the fewest definitions in half of a group of the third corpus.
const leastThird = 25

// secondEntry is a definition of the second corpus.
type secondEntry struct {
	ID, Class  string
	Definition json.RawMessage
}

// TestSecondCorpus prints what is found of definitions by people who did not write the rules, of which no rule knows:
// testdata/second/README.md.
func TestSecondCorpus(t *testing.T) {
	t.Parallel()
	for _, group := range []string{"bad", "clean"} {
		text, err := os.ReadFile(filepath.Join("testdata", "second", group+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		total, byClass := score{}, map[string]*score{}
		for line := range bytes.Lines(text) {
			var e secondEntry
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatalf("%s: %v", group, err)
			}
			if byClass[e.Class] == nil {
				byClass[e.Class] = &score{}
			}
			count(t, entry{class: e.Class + " " + e.ID, raw: e.Definition}, group == "bad", false, &total,
				byClass[e.Class])
		}
		logScores(t, "second "+group, total, byClass)
		if total.all == 0 {
			t.Errorf("there are no %s definitions", group)
		}
	}
}

// count scans a definition and counts it. What is held out is not shown: nobody is to tune on it.
func count(t testing.TB, e entry, bad, shown bool, scores ...*score) {
	t.Helper()
	ids := alarms(t, e)
	for _, s := range scores {
		s.all++
		if len(ids) > 0 {
			s.found++
		}
	}
	if shown && (len(ids) > 0) != bad {
		t.Logf("as it should not be: %v %s", ids, e)
	}
}
