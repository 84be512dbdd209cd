package main

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"
)

// options are what to measure, and how.
type options struct {
	writd string
	writ  string
	// beforeProgram is another build of writd, which this one is compared with.
	beforeProgram string
	seconds       float64
	connections   int
	rounds        int
	databaseURL   string
	only          string
	large         bool
	soak          time.Duration

	floor string
	port  int
}

func readOptions() options {
	var o options
	flag.StringVar(&o.writd, "writd", "../bin/writd", "the `program` to measure")
	flag.StringVar(&o.writ, "writ", "../bin/writ", "the client `program` to measure")
	flag.StringVar(&o.beforeProgram, "before", "", "another build of writd, a `program` to compare this one with")
	flag.Float64Var(&o.seconds, "seconds", 2, "`length` of a round")
	flag.IntVar(&o.connections, "connections", 32, "`number` of connections that ask at once")
	flag.IntVar(&o.rounds, "rounds", 5, "`number` of rounds of each server")
	flag.StringVar(&o.databaseURL, "database", "",
		"measure on the empty PostgreSQL database at this `URL` too; it is not emptied afterwards")
	flag.StringVar(&o.only, "only", "",
		"measure only these `parts`, with commas between: "+strings.Join(partNames(), ", "))
	flag.BoolVar(&o.large, "large", false,
		"read from 1,000,000 traces with 10,000,000 spans, decide on a log of 1,000,000 entries: takes long, and 12 GB of disk")
	flag.DurationVar(&o.soak, "soak", 20*time.Second, "`length` of the soak")
	flag.StringVar(&o.floor, "floor", "", "be the floor of this `name`: the benchmark starts itself so")
	flag.IntVar(&o.port, "port", 0, "the floor's `port`")
	flag.Parse()
	return o
}

func partNames() []string {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	return names
}

func (o options) check() error {
	if o.seconds < 0.1 || o.connections < 1 || o.rounds < 1 || o.soak < time.Second || flag.NArg() > 0 {
		return errors.New("-seconds is at least 0.1, -soak 1s, -connections and -rounds are at least 1, and there are no further arguments")
	}
	for _, name := range o.chosen() {
		if !slices.Contains(partNames(), name) {
			return fmt.Errorf("-only: there is no part %q, only %s", name, strings.Join(partNames(), ", "))
		}
	}
	return nil
}

// chosen are the parts that -only names.
func (o options) chosen() []string {
	if o.only == "" {
		return nil
	}
	return strings.Split(o.only, ",")
}

func (o options) wants(part string) bool { return o.only == "" || slices.Contains(o.chosen(), part) }

func (o options) roundLength() time.Duration { return time.Duration(o.seconds * float64(time.Second)) }

// command is how to repeat the run. A database's URL may hold a password.
func (o options) command() string {
	command := fmt.Sprintf("go run . -writd %s -writ %s -seconds %g -connections %d -rounds %d -soak %s", o.writd,
		o.writ, o.seconds, o.connections, o.rounds, o.soak)
	if o.only != "" {
		command += " -only " + o.only
	}
	if o.beforeProgram != "" {
		command += " -before " + o.beforeProgram
	}
	if o.large {
		command += " -large"
	}
	if o.databaseURL != "" {
		command += " -database URL"
	}
	return command
}
