package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"writ/client"
	"writ/internal/confine"
	"writ/internal/hook"
	"writ/internal/hook/beforetool"
	"writ/internal/hook/gemini"
)

// commands are such as every coding agent runs: one whose text shows what it reads, one whose text does not, and one
// that fetches packages. Policies confine them differently.
var commands = []string{"git status", "make", "npm install"}

// confinementTime is enough for a confined command that does nothing, also on a busy machine.
const confinementTime = 30 * time.Second

// confinement runs a command that does nothing within the limits that policies set: where that fails, every confined
// command fails.
func (e *examination) confinement(ctx context.Context) {
	const check = "confinement"
	switch {
	case e.guard == nil || !e.passed("programs") || !e.passed("server") || !e.passed("key"):
		e.add(check, Skipped, "the programs, the server and the key must work first", "")
		return
	case runtime.GOOS != "linux" || !slices.Contains(e.guard.Capabilities, client.CanConfine):
		e.add(check, OK, "this machine confines no commands; policies say what runs unconfined", "")
		return
	}
	var tried []string
	for _, command := range commands {
		limits, err := e.limitsOf(ctx, command)
		if err != nil {
			e.add(check, Failed, "policies cannot be asked about "+command+": "+err.Error(), "")
			return
		}
		if limits == nil || slices.Contains(tried, limits.String()) {
			continue
		}
		tried = append(tried, limits.String())
		if problem := e.runConfined(ctx, *limits); problem != "" {
			e.add(check, Failed, fmt.Sprintf("%s, which a policy confines, does not run: %s", command, problem),
				"mend what the policy confines it to, or what keeps this machine from it (writ run --write . -- true must "+
					"end with 0), or work in a folder that does not hold your settings")
			return
		}
	}
	if len(tried) == 0 {
		e.add(check, OK, "no policy confines "+strings.Join(commands, " or "), "")
		return
	}
	e.add(check, OK, "a confined command runs", "")
}

// limitsOf are those of the rule that decides about a command; nil: it confines nothing. No decision is recorded, and
// nobody is asked.
func (e *examination) limitsOf(ctx context.Context, command string) (*confine.Limits, error) {
	ctx, cancel := context.WithTimeout(ctx, e.guard.AnswerLimit())
	defer cancel()
	arguments, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return nil, err
	}
	c := &client.Client{BaseURL: e.guard.Server, APIKey: e.guard.Key, HTTP: direct}
	access, err := c.CheckAccess(ctx, "", client.ToolCall{
		Server: "gemini-cli", Tool: "run_shell_command", AgentID: e.guard.Agent, Arguments: arguments,
	})
	if err != nil {
		return nil, err
	}
	for _, rule := range access.Explanation {
		if l := rule.Confine; rule.Decided && l != nil {
			return &confine.Limits{Write: l.Write, Read: l.Read, Net: l.Net, Protect: l.Protect}, nil
		}
	}
	return nil, nil
}

// runConfined runs a command that does nothing as the hook would have the host run it, and returns what went wrong.
func (e *examination) runConfined(ctx context.Context, limits confine.Limits) (problem string) {
	// Where hooks put theirs: a command that may write there would be refused, in a folder above it.
	if err := os.MkdirAll(e.guard.StateDir, 0o700); err != nil {
		return err.Error()
	}
	folder, err := os.MkdirTemp(e.guard.StateDir, "doctor-")
	if err != nil {
		return err.Error()
	}
	defer os.RemoveAll(folder)
	in := &hook.Input{Payload: &gemini.Payload{CWD: e.Project}, Guard: e.guard, Getenv: e.Getenv, Now: time.Now()}
	command, err := beforetool.Confined(in, limits, filepath.Join(folder, "report"), "", "true")
	if err != nil {
		return err.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, confinementTime)
	defer cancel()
	var said bytes.Buffer
	shell := exec.CommandContext(ctx, "bash", "-c", command)
	shell.Dir, shell.Stderr, shell.WaitDelay = e.Project, &said, time.Second
	if err := shell.Run(); err != nil {
		return strings.Join(strings.Fields(said.String()+" ("+err.Error()+")"), " ")
	}
	return ""
}
