package evasion

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"writ/internal/policy/shell"
)

// What a run must show, in percent: that candidates really do harm, and that harmless
// commands are plain. Without these a test could pass because nothing happens.
const (
	wantHarmful = 20.0
	wantPlain   = 3.0
)

// number reads a setting of the test from the environment.
func number(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%s is %q, want a number", name, text)
	}
	return n
}

// usualSeed is the same in every run, so that a run that fails shows what a change did. Other seeds run by hand.
const usualSeed = 20261116

// seedOf is EVASION_SEED, or the usual one.
func seedOf(t *testing.T) uint64 {
	t.Helper()
	if text := os.Getenv("EVASION_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("EVASION_SEED is %q, want a number", text)
		}
		return seed
	}
	return usualSeed
}

// TestEvasions runs candidates that try to leave the workspace. Whatever leaves it
// while it is judged plain and inside is a failure.
func TestEvasions(t *testing.T) {
	seed, n := seedOf(t), number(t, "EVASIONS", 200)
	g, err := newGenerator(seed, programOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("EVASION_SEED=%d", seed)
	found := &tally{}
	runAll(t, n, nil, func(i int) order { return bash(g.candidate(i, false)) }, func(i int, o outcome) {
		found.add(g.candidate(i, false), o)
	})
	t.Logf("%d candidates ran: %v", n, found)
	if found.ran != n || 100*float64(found.harmful) < wantHarmful*float64(n) {
		t.Errorf("%d of %d ran, %d of them harmful; want all, and %.0f %% harmful", found.ran, n, found.harmful,
			wantHarmful)
	}
	report(t, found)
	checkTwins(t, g, n)
}

// TestEvasionsJudgedPlain makes far more candidates, and runs only those that are judged
// plain and inside: one that does harm fails.
func TestEvasionsJudgedPlain(t *testing.T) {
	seed, n := seedOf(t), number(t, "EVASIONS_JUDGED", 5_000)
	g, err := newGenerator(seed, programOptions(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("EVASION_SEED=%d", seed)
	seen := map[string]bool{}
	var free []string
	for i := range n {
		if text := g.candidate(1_000_000_000+i, false); !seen[text] && runsFreely(text) {
			seen[text] = true
			free = append(free, text)
		}
	}
	found := &tally{}
	runAll(t, len(free), nil, func(i int) order { return bash(free[i]) }, func(i int, o outcome) {
		found.add(free[i], o)
	})
	t.Logf("%d of %d candidates are judged plain and inside: %v", len(free), n, found)
	if found.ran != len(free) {
		t.Errorf("%d of %d ran", found.ran, len(free))
	}
	report(t, found)
}

// checkTwins holds that the same compositions are judged plain often enough where they
// stay in the workspace.
func checkTwins(t *testing.T, g *generator, n int) {
	t.Helper()
	plain := 0
	for i := range n {
		if runsFreely(g.candidate(i, true)) {
			plain++
		}
	}
	share := 100 * float64(plain) / float64(n)
	t.Logf("%d of %d harmless twins are plain: %.1f %%", plain, n, share)
	if share < wantPlain {
		t.Errorf("%.1f %% of the harmless twins are plain, want %.0f %% or more", share, wantPlain)
	}
}

// tally counts what candidates did.
type tally struct {
	ran, harmful, wrote, read, started, timedOut int
	slow                                         []string
	escaped                                      []escape
}

// escape is a candidate that did harm though it was judged plain and inside.
type escape struct {
	command string
	outcome outcome
}

func (t *tally) add(command string, o outcome) {
	t.ran++
	count := func(n *int, yes bool) {
		if yes {
			*n++
		}
	}
	count(&t.harmful, o.harmful())
	count(&t.wrote, len(o.Wrote) > 0)
	count(&t.read, len(o.Read) > 0)
	count(&t.started, o.Started)
	count(&t.timedOut, o.TimedOut)
	if o.TimedOut {
		t.slow = append(t.slow, command)
	}
	if o.harmful() && runsFreely(command) {
		t.escaped = append(t.escaped, escape{command, o})
	}
}

func (t *tally) String() string {
	return fmt.Sprintf("%d left the workspace (%d wrote, %d read, %d started), %d ran out of time, %d escaped",
		t.harmful, t.wrote, t.read, t.started, t.timedOut, len(t.escaped))
}

// How many are printed, and how many escapes are shrunk to find those that differ.
const (
	maxReported = 40
	maxShrunk   = 300
)

// report fails for every escape, with a shortest command for each set of programs.
func report(t *testing.T, found *tally) {
	t.Helper()
	for _, command := range found.slow[:min(len(found.slow), maxReported)] {
		t.Logf("ran out of time: %.200q", command)
	}
	if len(found.escaped) == 0 {
		return
	}
	t.Errorf("%d commands escaped though they are judged plain", len(found.escaped))
	box, err := openSandbox()
	if err != nil {
		t.Fatal(err)
	}
	defer box.close()
	seen := map[string]bool{}
	for _, e := range found.escaped[:min(len(found.escaped), maxShrunk)] {
		least, err := shrink(box, e)
		if err != nil {
			t.Fatal(err)
		}
		programs := strings.Join(shell.Parse(least.command).Programs, " ")
		if !seen[programs] && len(seen) < maxReported {
			seen[programs] = true
			t.Errorf("escaped: %s\n  %v\n  found as: %.500s", least.command, least.outcome, e.command)
		}
	}
}

// shrink drops words and lines as long as the rest still escapes.
func shrink(box *sandbox, e escape) (escape, error) {
	for dropped := true; dropped; {
		dropped = false
		words := strings.SplitAfter(e.command, " ")
		for i := 0; i < len(words) && len(words) > 1; i++ {
			text := strings.TrimSpace(strings.Join(words[:i], "") + strings.Join(words[i+1:], ""))
			if text == "" || !runsFreely(text) {
				continue
			}
			o, err := box.run(bash(text))
			if err != nil {
				return e, err
			}
			if o.harmful() {
				e, dropped = escape{text, o}, true
				break
			}
		}
	}
	return e, nil
}
