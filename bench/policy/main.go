// Policy measures what a decision costs, beside other policy engines, in one
// run on one machine.
//
//	go run . [-seconds 0.1] [-rounds 5]
//	go run . -print writ|rego        # the 100 rules, for the benchmark of servers
//
// The same rules are written for every engine, at 10, 100, 1,000 and 10,000 of
// them, and all engines decide the same calls. An engine that answers differently
// ends the run: an engine that does less cannot be compared. Requests are prepared
// before the clock starts, in the best form for each engine.
//
// The measure is CPU time, garbage collection included. Engines take turns in short
// rounds, so that a noisy neighbour disturbs all of them.
//
// The module is separate from the other benchmarks because OPA takes minutes to
// compile.
package main

import (
	"flag"
	"fmt"
	"os"

	"writ/internal/policy/document"
)

func main() {
	seconds := flag.Float64("seconds", 0.1, "processor `time` of a round")
	rounds := flag.Int("rounds", 5, "`number` of rounds of each engine")
	language := flag.String("print", "", "print the 100 rules in this `language`, writ or rego, and measure nothing")
	onlyShell := flag.Bool("shell", false, "measure only how long it takes to read a command")
	flag.Parse()
	if *language != "" {
		text, err := printed(*language)
		if err != nil {
			fmt.Fprintln(os.Stderr, "policy:", err)
			os.Exit(2)
		}
		fmt.Print(text)
		return
	}
	if *seconds <= 0 || *rounds < 1 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "policy: -seconds is above 0, -rounds at least 1, and there are no further arguments")
		os.Exit(2)
	}
	if *onlyShell {
		printShell(*seconds, *rounds)
		return
	}
	if err := run(*seconds, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "policy:", err)
		os.Exit(1)
	}
}

func run(seconds float64, rounds int) error {
	results := newResults()
	for _, size := range sizes {
		engines, err := build(makeRules(size))
		if err != nil {
			return fmt.Errorf("%d rules: %w", size, err)
		}
		if err := sameAnswers(engines, size); err != nil {
			return fmt.Errorf("%d rules: %w", size, err)
		}
		for range rounds {
			for _, c := range calls {
				for _, e := range engines {
					results.add(c.name, e.name, size, perDecision(e.prepare(c.at(size)), seconds))
				}
			}
		}
	}
	if err := results.print(os.Stdout); err != nil {
		return err
	}
	printShell(seconds, rounds)
	return nil
}

// printed is the rules that servers are measured with.
func printed(language string) (string, error) {
	rules := makeRules(100)
	switch language {
	case "writ":
		return string(document.RenderJSON(written(rules))), nil
	case "rego":
		return module(rules) + planned, nil
	}
	return "", fmt.Errorf("-print: the rules are not written in %q", language)
}

// engine is one of those compared.
type engine struct {
	name string
	// prepare makes the request of a call, and returns the decision about it:
	// whether it is allowed.
	prepare func(call) func() bool
}

func build(rules []rule) ([]engine, error) {
	var engines []engine
	for _, b := range []struct {
		name string
		make func([]rule) (func(call) func() bool, error)
	}{{ours, newOurs}, {cedarGo, newCedar}, {opa, newOPA}, {celScan, newScan}} {
		prepare, err := b.make(rules)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.name, err)
		}
		engines = append(engines, engine{b.name, prepare})
	}
	return engines, nil
}

func sameAnswers(engines []engine, size int) error {
	for _, e := range engines {
		for _, c := range append(calls, otherCalls...) {
			if got := e.prepare(c.at(size))(); got != c.allowed {
				return fmt.Errorf("%s: %s: allowed is %t", e.name, c.name, got)
			}
		}
	}
	return nil
}
