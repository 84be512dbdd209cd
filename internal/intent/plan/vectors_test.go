package plan_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"
)

var updateTrees = flag.Bool("update", false, "write testdata/trees.json again")

const treesFile = "testdata/trees.json"

// treeVector is a plan as the dashboard reads it, and its tree.
type treeVector struct {
	Name    string     `json:"name"`
	Root    string     `json:"root"`
	Ordered bool       `json:"ordered"`
	Steps   []treeStep `json:"steps"`
	Leaves  []treeLeaf `json:"leaves"`
}

type treeStep struct {
	Action   string         `json:"action"`
	Server   string         `json:"server"`
	Tool     string         `json:"tool"`
	Fixed    []treeArgument `json:"fixed"`
	Strict   bool           `json:"strict"`
	MaxCalls int64          `json:"maxCalls"`
}

type treeArgument struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type treeLeaf struct {
	Path   string `json:"path"`
	Digest string `json:"digest"`
}

// TestTreesOfPlans: the dashboard's own tree of a plan is compared with this file.
func TestTreesOfPlans(t *testing.T) {
	t.Parallel()
	var vectors []treeVector
	for _, c := range []struct{ name, text string }{
		{"one step", `{"goal":"g","steps":[{"action":"send_money","mcp":"bank"}]}`},
		{"fixed arguments", `{"goal":"g","steps":[{"action":"send_money","mcp":"bank",
			"params":{"to":"land\"lord\né 😀","amount":12345678901234567890,"deep":{"b":[1.5,null],"a":true}},"max_calls":2}]}`},
		{"ordered and strict",
			`{"goal":"g","ordered":true,"steps":[{"action":"a","mcp":"x","strict":true,"params":{"k":1}},
			{"action":"b","mcp":"x"},{"action":"c","mcp":"y","params":{}}]}`},
		{
			"five steps",
			`{"goal":"g","steps":[{"action":"a"},{"action":"b"},{"action":"c"},{"action":"d"},{"action":"e"}]}`,
		},
	} {
		vectors = append(vectors, treeOf(t, c.name, c.text))
	}
	made, err := json.MarshalIndent(vectors, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	made = append(made, '\n')
	if *updateTrees {
		if err := os.WriteFile(treesFile, made, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if stored, err := os.ReadFile(treesFile); err != nil || !bytes.Equal(stored, made) {
		t.Fatalf("%s is not what this code makes (%v): run go test ./internal/intent/plan -run TestTreesOfPlans -update",
			treesFile, err)
	}
}

func treeOf(t *testing.T, name, text string) treeVector {
	t.Helper()
	p := parse(t, text)
	v := treeVector{Name: name, Root: p.Tree().Root(), Ordered: p.Ordered}
	for _, s := range p.Steps {
		step := treeStep{
			Action: s.Action, Server: s.Server, Tool: s.Tool,
			Fixed: []treeArgument{}, Strict: s.Strict, MaxCalls: s.MaxCalls,
		}
		for _, given := range s.Given {
			step.Fixed = append(step.Fixed, treeArgument{given.Key, given.Equal})
		}
		v.Steps = append(v.Steps, step)
	}
	for _, node := range p.Tree().Nodes() {
		if node.Level == 0 {
			v.Leaves = append(v.Leaves, treeLeaf{node.Path, node.Digest})
		}
	}
	return v
}
