package hosttest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"writ/internal/hook/hosttest"
)

// answer is a case of testdata/answers.json: what a hook leaves behind, and what the host makes of it.
type answer struct {
	Name   string          `json:"name"`
	Stdout string          `json:"stdout"`
	Stderr string          `json:"stderr"`
	Exit   int             `json:"exit"`
	Signal string          `json:"signal"`
	Effect hosttest.Effect `json:"effect"`
	Reason string          `json:"reason"`
	Input  map[string]any  `json:"input"`
}

func answers(t *testing.T) (answers []answer) {
	t.Helper()
	text, err := os.ReadFile("testdata/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &answers); err != nil {
		t.Fatalf("testdata/answers.json: %v", err)
	}
	return answers
}

func TestRules(t *testing.T) {
	t.Parallel()
	for _, a := range answers(t) {
		got := hosttest.Read(hosttest.Answer{Stdout: a.Stdout, Stderr: a.Stderr, Exit: a.Exit})
		want := hosttest.Reading{Effect: a.Effect, Reason: a.Reason, Input: a.Input}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: read as %+v, want %+v", a.Name, got, want)
		}
	}
	late := hosttest.Answer{Stdout: `{"decision":"deny"}`, TimedOut: true}
	if got := hosttest.Read(late); got.Effect != hosttest.Runs || got.Denied() {
		t.Errorf("a deny that came too late is read as %+v", got)
	}
}

// TestRulesAreTheHosts gives every answer of the table to the real host, each for a file of its own.
func TestRulesAreTheHosts(t *testing.T) {
	t.Parallel()
	for _, host := range hosttest.Hosts(t) {
		t.Run(host.Version, func(t *testing.T) {
			t.Parallel()
			var goesOn []answer
			for _, a := range answers(t) {
				if a.Effect == hosttest.Runs || a.Effect == hosttest.Blocked {
					goesOn = append(goesOn, a)
					continue
				}
				t.Run(a.Name, func(t *testing.T) {
					t.Parallel()
					giveAnswers(t, host, a)
				})
			}
			giveAnswers(t, host, goesOn...)
		})
	}
}

// giveAnswers runs the host with one call for each answer. An answer that ends the agent must be the last.
func giveAnswers(t *testing.T, host hosttest.Host, answers ...answer) {
	t.Helper()
	machine := hosttest.NewMachine(t, host)
	scripted := filepath.Join(machine.Home, "answers")
	var turns []hosttest.Reply
	for i, a := range answers {
		file := fmt.Sprintf("%02d.txt", i)
		machine.WriteHome(t, "answers/"+file, a.script(machine.Project, file))
		turns = append(turns, hosttest.Calls(writeFile(file)))
	}
	// The hook plays the script that is named like the file to write.
	command := `file=$(grep -o '"file_path":"[^"]*"' | cut -d'"' -f4); exec bash "` + scripted + `/$file"`
	machine.Settings(t, map[string]any{"hooks": map[string]any{
		"BeforeTool": []any{hosttest.Hook("guard", command, hosttest.Patience)},
	}})
	run := machine.Run(t, "write all", hosttest.Turns(turns...))
	for i, a := range answers {
		checkObeyed(t, machine, run, a, i)
	}
}

func checkObeyed(t *testing.T, machine *hosttest.Machine, run hosttest.Run, a answer, i int) {
	t.Helper()
	file := fmt.Sprintf("%02d.txt", i)
	asked, moved := machine.Has(file), machine.Has("moved-"+file)
	if want := a.Effect == hosttest.Runs; asked != (want && a.Input == nil) || moved != (want && a.Input != nil) {
		t.Errorf("%s: the host wrote the file: %v, another: %v; want it to be %s", a.Name, asked, moved, a.Effect)
	}
	switch a.Effect {
	case hosttest.Blocked:
		if got := run.Results()[i].Error; got.Type != "policy_violation" ||
			got.Message != "Tool execution blocked: "+a.Reason {
			t.Errorf("%s: the call ended with %+v, want the reason %q", a.Name, got, a.Reason)
		}
	case hosttest.Stopped:
		if !strings.Contains(run.Stderr, a.Reason) || len(run.Requests) != 1 {
			t.Errorf("%s: %d requests, want 1 and the reason: %s", a.Name, len(run.Requests), run.Stderr)
		}
	case hosttest.Asks:
		if len(run.Requests) != 1 {
			t.Errorf("%s: the agent went on without a person", a.Name)
		}
	}
}

// script is a hook in bash that leaves the answer behind.
func (a answer) script(project, file string) string {
	moved := filepath.Join(project, "moved-"+file)
	end := fmt.Sprintf("exit %d", a.Exit)
	if a.Signal != "" {
		end = fmt.Sprintf("kill -%s $$; sleep 60", a.Signal)
	}
	return fmt.Sprintf("printf %%s %s\nprintf %%s %s >&2\n%s\n",
		quote(strings.ReplaceAll(a.Stdout, "OTHER", moved)), quote(a.Stderr), end)
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// TestLateHooksAreIgnored: to a host whose patience ends, a deny that was printed in time is none.
func TestLateHooksAreIgnored(t *testing.T) {
	t.Parallel()
	machine := hosttest.NewMachine(t, hosttest.Newest(t))
	machine.Settings(t, map[string]any{"hooks": map[string]any{
		"BeforeTool": []any{hosttest.Hook("guard", `echo '{"decision":"deny"}'; exec sleep 60`, time.Second)},
	}})
	machine.Run(t, "write it", hosttest.Turns(hosttest.Calls(writeFile("a.txt"))))
	if !machine.Has("a.txt") {
		t.Error("the host denied a call whose hook was late: wire and rules must say so")
	}
}
