package main

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// run is one recorded run, as far as it matters here.
type run struct {
	ID          string   `json:"id"`
	Suite       string   `json:"suite"`
	Attack      string   `json:"attack"`
	AttackClass string   `json:"attack_class"`
	Prompt      string   `json:"prompt"`
	Declared    []step   `json:"declared_plan"`
	Oracle      []step   `json:"oracle_plan"`
	May         []string `json:"filter_tools"`
	Calls       []call   `json:"calls"`
	AttackPaths [][]int  `json:"attack_paths"`
	Utility     bool     `json:"utility"`
}

type step struct {
	Tool string                     `json:"tool"`
	Args map[string]json.RawMessage `json:"args"`
	From map[string]string          `json:"src"`
}

type call struct {
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args"`
	Hash   string          `json:"out"`
	output string
}

// isBenign: nobody attacked, and the task was done.
func (r *run) isBenign() bool { return r.Attack == "none" && r.Utility }

// isAttacked: calls serve the attacker, and it is known which.
func (r *run) isAttacked() bool { return r.Attack != "none" && r.AttackClass == "tool" }

// dataset is what a folder holds.
type dataset struct {
	runs    []run
	classes map[string]string // suite/tool -> read or write
}

// readDataset reads a folder and keeps the runs that count, shuffled with a fixed seed.
func readDataset(folder string) (*dataset, error) {
	outputs := map[string]string{}
	err := readLines(filepath.Join(folder, "dev_outputs.jsonl.gz"), func(line []byte) error {
		var o struct{ H, T string }
		err := json.Unmarshal(line, &o)
		outputs[o.H] = o.T
		return err
	})
	if err != nil {
		return nil, err
	}
	d := &dataset{}
	err = readLines(filepath.Join(folder, "dev.jsonl.gz"), func(line []byte) error {
		var r run
		if err := json.Unmarshal(line, &r); err != nil {
			return err
		}
		for i := range r.Calls {
			text, ok := outputs[r.Calls[i].Hash]
			if !ok {
				return fmt.Errorf("run %s: the output %s is missing", r.ID, r.Calls[i].Hash)
			}
			r.Calls[i].output = text
		}
		if r.isBenign() || r.isAttacked() {
			d.runs = append(d.runs, r)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(d.runs), func(i, k int) { d.runs[i], d.runs[k] = d.runs[k], d.runs[i] })
	text, err := os.ReadFile(filepath.Join(folder, "toolclass.json"))
	if err != nil {
		return nil, err
	}
	return d, json.Unmarshal(text, &d.classes)
}

func readLines(name string, each func(line []byte) error) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		if err := each(lines.Bytes()); err != nil {
			return fmt.Errorf("%s: line %d: %w", name, n, err)
		}
	}
	return lines.Err()
}
