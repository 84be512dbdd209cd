package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"writ/internal/approval/risk"
)

// run is one recorded run, as far as it matters here.
type run struct {
	Suite       string  `json:"suite"`
	Attack      string  `json:"attack"`
	AttackClass string  `json:"attack_class"`
	Task        string  `json:"user_task_id"`
	Plan        []step  `json:"declared_plan"`
	Calls       []call  `json:"calls"`
	AttackPaths [][]int `json:"attack_paths"`
	Utility     bool    `json:"utility"`
}

type step struct {
	Tool string `json:"tool"`
}

type call struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

// isBenign: nobody attacked, and the task was done.
func (r *run) isBenign() bool { return r.Attack == "none" && r.Utility }

// isAttacked: calls serve the attacker, and it is known which.
func (r *run) isAttacked() bool { return r.Attack != "none" && r.AttackClass == "tool" }

func (r *run) plan(tool string) risk.Plan {
	if slices.ContainsFunc(r.Plan, func(s step) bool { return s.Tool == tool }) {
		return risk.WithinPlan
	}
	return risk.OutsidePlan
}

func readRuns(folder string) (runs []run, err error) {
	file, err := os.Open(filepath.Join(folder, "dev.jsonl.gz"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file.Name(), err)
	}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var r run
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("%s: run %d: %w", file.Name(), len(runs)+1, err)
		}
		runs = append(runs, r)
	}
	return runs, lines.Err()
}

// readWrites reads which tools change something, by suite/tool.
func readWrites(folder string) (map[string]bool, error) {
	text, err := os.ReadFile(filepath.Join(folder, "toolclass.json"))
	if err != nil {
		return nil, err
	}
	var classes map[string]string
	if err := json.Unmarshal(text, &classes); err != nil {
		return nil, fmt.Errorf("toolclass.json: %w", err)
	}
	writes := map[string]bool{}
	for name, class := range classes {
		writes[name] = class == "write"
	}
	return writes, nil
}

// habit is a call of a benign run.
type habit struct{ task, args string }

// habits are benign calls by suite/tool, in an order that is shuffled once.
type habits map[string][]habit

func habitsOf(runs []run) habits {
	known := habits{}
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(len(runs)) {
		r := &runs[i]
		if !r.isBenign() {
			continue
		}
		for _, c := range r.Calls {
			name := r.Suite + "/" + c.Tool
			known[name] = append(known[name], habit{r.Task, string(c.Args)})
		}
	}
	return known
}

// past is what a caller who does other tasks did with a tool: its last fifty.
func (h habits) past(r *run, tool string) (past risk.Past) {
	for _, known := range h[r.Suite+"/"+tool] {
		if known.task == r.Task {
			continue
		}
		past.Remember(known.args)
		if past.Looked = past.Ran; past.Looked == 50 {
			break
		}
	}
	return past
}
