// Risk measures what the level of a request for approval is worth: how it rates
// calls of real agents, those that their users wanted and those that an injected
// instruction made them do.
//
//	go run . -data FOLDER
//
// FOLDER holds recorded runs in the AgentDojo environments: dev.jsonl.gz, a run a
// line, and toolclass.json, which tools write. The runs are no part of Writ.
//
// Every call is rated as if a policy had held it. Labels of the data set decide
// only which table a call counts in. A call is within its plan if the plan that
// was declared before the first call names its tool. There are two pasts: none, as
// for an agent that is new, and a warm one, the last fifty calls of the tool in
// benign runs of other tasks. A run that cannot be read ends the program: a
// missing number must not pass for a good one.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	data := flag.String("data", "", "`folder` of the recorded runs")
	flag.Parse()
	if *data == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "risk: say where the recorded runs are with -data")
		os.Exit(2)
	}
	if err := measure(*data); err != nil {
		fmt.Fprintln(os.Stderr, "risk:", err)
		os.Exit(1)
	}
}

// measure prints a table for each past.
func measure(folder string) error {
	runs, err := readRuns(folder)
	if err != nil {
		return err
	}
	writes, err := readWrites(folder)
	if err != nil {
		return err
	}
	usual := habitsOf(runs)
	for _, past := range []struct {
		name  string
		known habits
	}{{"without a past", nil}, {"with a warm past", usual}} {
		rated := rate(runs, writes, past.known)
		if len(rated) == 0 {
			return fmt.Errorf("there is no call to rate")
		}
		fmt.Printf("\n%s\n", past.name)
		printTable(rated)
	}
	return nil
}
