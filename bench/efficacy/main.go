// Efficacy measures how well grounding tells what an agent's user wants from what an
// injected instruction wants.
//
//	go run . -data FOLDER -writd ../../bin/writd
//	go run . -data FOLDER
//
// FOLDER holds recorded runs in the AgentDojo environments, which are no part of Writ.
// With -writd every run is replayed over HTTP against a server of its own: a plan is
// declared, each call is asked about, and what an allowed call returned is reported.
// Without it, package grounding judges alone, in seconds.
//
// Labels of the data decide only what a run counts as. A run that cannot be read, or an
// answer that is no success, ends the program: a dead server must not look like a strict
// one. The controls must give exactly what is known of them.
package main

import (
	"flag"
	"fmt"
	"os"
	"sync"
)

func main() {
	data := flag.String("data", "", "`folder` of the recorded runs")
	writd := flag.String("writd", "", "`program` to replay against; without it the package judges alone")
	only := flag.String("only", "", "measure only the setup of this `name`")
	causes := flag.Bool("causes", false, "print what broke benign runs, and which attacks ran")
	flag.Parse()
	if *data == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "efficacy: say where the recorded runs are with -data")
		os.Exit(2)
	}
	if err := measure(*data, *writd, *only, *causes); err != nil {
		fmt.Fprintln(os.Stderr, "efficacy:", err)
		os.Exit(1)
	}
}

func measure(folder, writd, only string, causes bool) error {
	d, err := readDataset(folder)
	if err != nil {
		return err
	}
	setups := asked()
	newDecider := func(s setup) (decider, error) { return &offline{d.classes, s}, nil }
	workers := 1
	if writd != "" {
		home, err := os.MkdirTemp("", "efficacy")
		if err != nil {
			return err
		}
		defer os.RemoveAll(home)
		server, err := startServer(writd, home)
		if err != nil {
			return err
		}
		defer server.stop()
		workers, setups = 8, append(controls(), setups...)
		newDecider = func(s setup) (decider, error) { return newOnline(server, d.classes, s) }
	}
	for _, s := range setups {
		if only != "" && s.name != only {
			continue
		}
		judge, err := newDecider(s)
		if err != nil {
			return err
		}
		outcomes, err := replayAll(judge, d.runs, workers)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		t := tally(outcomes)
		t.print(s.name, causes)
		if err := t.check(s.name); err != nil {
			return err
		}
	}
	return nil
}

// replayAll replays the runs, several at once.
func replayAll(d decider, runs []run, workers int) ([]outcome, error) {
	outcomes, errs := make([]outcome, len(runs)), make([]error, workers)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < len(runs) && errs[w] == nil; i += workers {
				if outcomes[i], errs[w] = replay(d, &runs[i]); errs[w] != nil {
					errs[w] = fmt.Errorf("run %s: %w", runs[i].ID, errs[w])
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return outcomes, nil
}
