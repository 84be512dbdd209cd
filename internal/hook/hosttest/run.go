package hosttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// modelName is fixed: a name of a family makes the host ask which of it to use.
const modelName = "gemini-2.5-flash"

// runLimit is for a host that hangs. A run takes a few seconds.
const runLimit = 8 * time.Minute

// Machine is a person's machine with the host on it: a home with the host's settings, and a project.
type Machine struct {
	Host    Host
	Home    string
	Project string
	Env     []string // besides what the host needs
	Flags   []string // besides those for a run without a person
}

// NewMachine is a machine with an empty home and project.
func NewMachine(t testing.TB, host Host) *Machine {
	t.Helper()
	m := &Machine{Host: host, Home: t.TempDir(), Project: t.TempDir()}
	m.Settings(t, nil)
	return m
}

// Settings writes the user's settings: what a run without a person needs, and more.
func (m *Machine) Settings(t testing.TB, more map[string]any) {
	t.Helper()
	settings := map[string]any{
		"security": map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}},
		"model":    map[string]any{"name": modelName, "disableLoopDetection": true},
		"privacy":  map[string]any{"usageStatisticsEnabled": false},
		"general":  map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
	}
	maps.Copy(settings, more)
	text, err := json.MarshalIndent(settings, "", "  ")
	if err != nil {
		t.Fatalf("write the settings: %v", err)
	}
	m.WriteHome(t, ".gemini/settings.json", string(text)+"\n")
}

// WriteHome writes a file below the home.
func (m *Machine) WriteHome(t testing.TB, name, text string) {
	t.Helper()
	write(t, filepath.Join(m.Home, name), text)
}

// WriteProject writes a file below the project.
func (m *Machine) WriteProject(t testing.TB, name, text string) {
	t.Helper()
	write(t, filepath.Join(m.Project, name), text)
}

// Has says whether the project has a file.
func (m *Machine) Has(name string) bool {
	_, err := os.Lstat(filepath.Join(m.Project, name))
	return err == nil
}

func write(t testing.TB, path, text string) {
	t.Helper()
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
	if err != nil {
		t.Fatalf("write a file of the machine: %v", err)
	}
}

// Patience is the host's with a hook that is not about being late.
const Patience = runLimit

// Hook is the settings' form of one command for an event, for every tool.
func Hook(name, command string, timeout time.Duration) map[string]any {
	return map[string]any{
		"matcher": "*",
		"hooks": []any{map[string]any{
			"type": "command", "name": name, "command": command, "timeout": timeout.Milliseconds(),
		}},
	}
}

// Event is a line that the host prints of a run.
type Event struct {
	Type       string         `json:"type"`
	SessionID  string         `json:"session_id"`
	Tool       string         `json:"tool_name"`
	CallID     string         `json:"tool_id"`
	Parameters map[string]any `json:"parameters"`
	Status     string         `json:"status"`
	Error      struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"error"`
}

// Run is how a run of the host ended.
type Run struct {
	Exit     int
	Events   []Event
	Stderr   string
	Requests []Request // what the model was sent
	Took     time.Duration
}

// Results are the events of calls that ended, in order.
func (r Run) Results() (results []Event) {
	for _, e := range r.Events {
		if e.Type == "tool_result" {
			results = append(results, e)
		}
	}
	return results
}

// Told says whether the model was sent a text as the result of a call.
func (r Run) Told(text string) bool {
	for _, request := range r.Requests {
		if strings.Contains(strings.Join(request.Results(), "\n"), text) {
			return true
		}
	}
	return false
}

// Run has the host work on a prompt, without a person, every tool approved: only hooks can stop one.
func (m *Machine) Run(t testing.TB, prompt string, script func(Request) Reply) Run {
	t.Helper()
	model := NewModel(t, script)
	ctx, stop := context.WithTimeout(t.Context(), runLimit)
	defer stop()
	flags := []string{"--output-format", "stream-json", "--approval-mode", "yolo", "--prompt", prompt}
	host := exec.CommandContext(ctx, m.Host.Program, append(flags, m.Flags...)...)
	host.Dir = m.Project
	host.Env = append(m.environment(model), m.Env...)
	// The host's whole group ends with it: a hook that hangs must not outlive the test.
	host.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	host.Cancel = func() error { return syscall.Kill(-host.Process.Pid, syscall.SIGKILL) }
	host.WaitDelay = time.Minute
	var stdout, stderr bytes.Buffer
	host.Stdout, host.Stderr = &stdout, &stderr
	began := time.Now()
	err := host.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("run the Gemini CLI %s: %v\n%s%s", m.Host.Version, err, &stdout, &stderr)
	}
	run := Run{
		Exit: host.ProcessState.ExitCode(), Stderr: stderr.String(),
		Requests: model.Requests(), Took: time.Since(began),
	}
	run.Events = events(stdout.String())
	if len(model.foreign) > 0 {
		t.Errorf("the host asked for more than the script has: %q", model.foreign)
	}
	return run
}

// environment is what the host needs, and nothing of whoever runs the test.
func (m *Machine) environment(model *Model) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + m.Home, "TERM=dumb", "LANG=C.UTF-8",
		"GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL=" + model.URL,
		"GEMINI_CLI_NO_RELAUNCH=true", "GEMINI_CLI_TRUST_WORKSPACE=true",
	}
}

// events reads what the host printed; it prints other lines too.
func events(text string) (events []Event) {
	for line := range strings.Lines(text) {
		var e Event
		if json.Unmarshal([]byte(line), &e) == nil && e.Type != "" {
			events = append(events, e)
		}
	}
	return events
}
