// Package doctor examines whether a machine's Gemini CLI is guarded, and says what to do where it is not.
//
// It looks at what the host would read (settings of every layer, extensions, trusted folders), asks the server, and
// fires every hook as the host does. It changes nothing but its own session at the server.
package doctor

import (
	"context"
	"os"
	"path/filepath"
	"runtime"

	"writ/internal/hook/guardfile"
	"writ/internal/hook/install"
)

// State is how a check came out.
type State string

// The states.
const (
	OK      State = "ok"
	Warning State = "warning" // it works, and a person should know
	Failed  State = "failed"
	Skipped State = "skipped" // something else must work first
)

// Finding is what a check has found.
type Finding struct {
	Check string `json:"check"`
	State State  `json:"state"`
	Text  string `json:"text"`
	Fix   string `json:"fix,omitempty"`
}

// Machine is what is examined.
type Machine struct {
	install.Places
	Project string // the folder that an agent would work in
	System  string // the host's settings of the whole machine; empty: where it looks for them
	Getenv  func(string) string
	Look    func(program string) (string, error) // finds a program on PATH
}

// system is the host's settings of the whole machine.
func (m *Machine) system() string {
	switch {
	case m.System != "":
		return m.System
	case m.Getenv("GEMINI_CLI_SYSTEM_SETTINGS_PATH") != "":
		return m.Getenv("GEMINI_CLI_SYSTEM_SETTINGS_PATH")
	case runtime.GOOS == "darwin":
		return "/Library/Application Support/GeminiCli/settings.json"
	}
	return "/etc/gemini-cli/settings.json"
}

// systemDefaults come before all others.
func (m *Machine) systemDefaults() string {
	if path := m.Getenv("GEMINI_CLI_SYSTEM_DEFAULTS_PATH"); path != "" {
		return path
	}
	return filepath.Join(filepath.Dir(m.system()), "system-defaults.json")
}

// examination is one run of the doctor.
type examination struct {
	*Machine
	findings []Finding
	guard    *guardfile.File // nil: it cannot be used
	layers   []layer
	trusted  trust
}

func (e *examination) add(check string, state State, text, fix string) {
	e.findings = append(e.findings, Finding{check, state, text, fix})
}

// passed reports whether a check has neither failed nor been skipped.
func (e *examination) passed(check string) bool {
	for _, f := range e.findings {
		if f.Check == check && f.State != OK && f.State != Warning {
			return false
		}
	}
	return true
}

// initAgain is the fix of everything that init writes.
const initAgain = "run writ init gemini again"

// Guarded examines whether the host would run our hooks, on this machine and in this project, and whether they trust
// the certificate of the server: that which is given, or that of the guard file. It asks the server nothing: where it
// is away, no tool runs.
func Guarded(ctx context.Context, m *Machine, server string) []Finding {
	e := newExamination(m)
	e.local()
	if server == "" && e.guard != nil {
		server = e.guard.Server
	}
	e.certificate(ctx, server)
	return e.findings
}

// monitored is what is wrong where the guard file says that calls are only monitored.
const monitored = "calls are only monitored: what is not allowed runs, and is recorded"

// IsMonitored reports whether calls are monitored, and nothing is wrong but that they run also where they are not
// allowed. A host whose hooks do not run is not even monitored.
func IsMonitored(findings []Finding) bool {
	found := false
	for _, f := range findings {
		if f.State == Failed && f.Text != monitored {
			return false
		}
		found = found || f.State == Failed
	}
	return found
}

// Examine examines everything.
func Examine(ctx context.Context, m *Machine) []Finding {
	e := newExamination(m)
	e.host()
	e.local()
	e.remarks()
	e.server(ctx)
	e.confinement(ctx)
	e.fire(ctx)
	return e.findings
}

func newExamination(m *Machine) *examination {
	e := &examination{Machine: m}
	e.layers = e.readLayers()
	e.trusted = e.trust()
	return e
}

// local is what decides whether hooks run.
func (e *examination) local() {
	if !e.installed() {
		e.add("guard file", Failed, "nothing of Writ is installed here", "run writ init gemini")
		return // what the host would do with our hooks is of no interest
	}
	e.guardFile()
	e.programs()
	e.settings()
	e.extension()
	e.switches()
	e.dotEnv()
	e.planServer()
	e.folder()
}

// remarks are what does not keep hooks from running.
func (e *examination) remarks() {
	e.modes()
	e.foreignHooks()
	e.plugins()
	e.unhooked()
	e.spool()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
