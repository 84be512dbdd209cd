package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A session of the host, and how much guarding may add to it.
const (
	hostCalls = 50
	hostRuns  = 5
	hostLimit = 1.05 // of the same session with six hooks that do nothing
)

// host measures a session of the real Gemini CLI, from its start to its end: without hooks, with six that do nothing,
// with these and the plan server, and guarded. They take turns. A model on this machine answers at once, so that all
// the time is the host's and the hooks'.
func (b *bench) host(ctx context.Context) (err error) {
	server, _, err := b.installations[0].start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	m, err := b.newGuarded(ctx, server, "host")
	if err != nil {
		return err
	}
	gemini, err := newestHost(ctx)
	if err != nil {
		return err
	}
	model := &scriptedModel{}
	if err := model.listen(ctx); err != nil {
		return err
	}
	defer model.close()
	sessions := []*hostSession{
		{name: "no hooks"}, {name: "six hooks that do nothing"}, {name: "the same, with the plan server"},
		{name: "guarded"},
	}
	for i, hooks := range []map[string]any{nil, idleHooks(), nil, nil} {
		if err := sessions[i].prepare(m, hooks); err != nil {
			return err
		}
	}
	for _, s := range sessions[2:] {
		if err := m.guard(ctx, s.home); err != nil {
			return err
		}
	}
	if err := sessions[2].idle(); err != nil {
		return err
	}
	for range hostRuns {
		for _, s := range sessions {
			if err := s.run(ctx, gemini, model); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	return printSessions(sessions)
}

// newestHost is the program of the newest version that tests drive.
func newestHost(ctx context.Context) (string, error) {
	versions, err := filepath.Glob("../test/gemini/*")
	if err != nil || len(versions) == 0 {
		return "", errors.New("../test/gemini names no version of the Gemini CLI")
	}
	output, err := exec.CommandContext(ctx, "../scripts/gemini", filepath.Base(versions[len(versions)-1])).Output()
	if err != nil {
		return "", fmt.Errorf("install the Gemini CLI: %w", err)
	}
	return strings.TrimSpace(string(output)) + "/node_modules/.bin/gemini", nil
}

// idleHooks are the settings of six hooks that do nothing.
func idleHooks() map[string]any {
	hooks := map[string]any{}
	for _, event := range []string{
		"SessionStart", "BeforeAgent", "BeforeToolSelection", "BeforeTool", "AfterTool", "SessionEnd",
	} {
		hooks[event] = []any{map[string]any{"matcher": "*", "hooks": []any{map[string]any{
			"type": "command", "name": "idle", "command": "true", "timeout": 60_000,
		}}}}
	}
	return hooks
}

// hostSession is a way to set the host up, and how long sessions take.
type hostSession struct {
	name          string
	home, project string
	times         []time.Duration
	cpu           []time.Duration // of the host and its hooks; the server is apart
}

// prepare makes a home with the host's settings, and a project.
func (s *hostSession) prepare(m *guarded, hooks map[string]any) error {
	s.home, s.project = m.path(strings.ReplaceAll(s.name, " ", "-")), m.path("project")
	settings := map[string]any{
		"security": map[string]any{"auth": map[string]any{"selectedType": "gemini-api-key"}},
		"model":    map[string]any{"name": hostModel, "disableLoopDetection": true},
		"privacy":  map[string]any{"usageStatisticsEnabled": false},
		"general":  map[string]any{"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
	}
	if hooks != nil {
		settings["hooks"] = hooks
	}
	text, err := json.Marshal(settings)
	return errors.Join(err, os.MkdirAll(filepath.Join(s.home, ".gemini"), 0o700),
		os.WriteFile(filepath.Join(s.home, ".gemini", "settings.json"), text, 0o600),
		os.WriteFile(filepath.Join(s.project, "notes.txt"), []byte("notes\n"), 0o600))
}

// idle leaves what writ init has installed, with hooks that do nothing: what remains is the host's own work for the
// extension and its plan server.
func (s *hostSession) idle() error {
	for _, file := range []string{"settings.json", "extensions/writ/hooks/hooks.json"} {
		path := filepath.Join(s.home, ".gemini", file)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var settings map[string]any
		if err := json.Unmarshal(text, &settings); err != nil {
			return err
		}
		settings["hooks"] = idleHooks()
		if text, err = json.Marshal(settings); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// run runs a session and checks that the host made every call.
func (s *hostSession) run(ctx context.Context, gemini string, model *scriptedModel) error {
	model.begin()
	command := exec.CommandContext(ctx, gemini, "--output-format", "stream-json", "--approval-mode", "yolo",
		"--prompt", "read the notes")
	command.Dir = s.project
	command.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.home, "TERM=dumb", "LANG=C.UTF-8", "GEMINI_API_KEY=none",
		"GOOGLE_GEMINI_BASE_URL=" + model.url, "GEMINI_CLI_NO_RELAUNCH=true", "GEMINI_CLI_TRUST_WORKSPACE=true",
	}
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	begin := time.Now()
	if err := command.Run(); err != nil {
		return fmt.Errorf("run the Gemini CLI: %w: %s", err, &stderr)
	}
	s.times = append(s.times, time.Since(begin))
	s.cpu = append(s.cpu, command.ProcessState.UserTime()+command.ProcessState.SystemTime())
	done := strings.Count(stdout.String(), `"status":"success"`) - 1 // the last one is the session
	if done < hostCalls {
		return fmt.Errorf("%d of %d calls ran: %s", done, hostCalls, &stderr)
	}
	return nil
}

func printSessions(sessions []*hostSession) error {
	table := newTable(os.Stdout, fmt.Sprintf("a session of %d calls", hostCalls), "median", "lowest", "CPU", "of none",
		"of six that do nothing", "target", "")
	none, nothing := median(sessions[0].times), median(sessions[1].times)
	for i, s := range sessions {
		middle := median(s.times)
		target, verdict := "-", ""
		if i == len(sessions)-1 {
			target = fmt.Sprintf("%.2f x", hostLimit)
			if float64(middle) > hostLimit*float64(nothing) {
				verdict = "missed"
			}
		}
		table.row(s.name, milliseconds(middle), milliseconds(slices.Min(s.times)), milliseconds(median(s.cpu)),
			fmt.Sprintf("%.3f x", float64(middle)/float64(none)),
			fmt.Sprintf("%.3f x", float64(middle)/float64(nothing)), target, verdict)
	}
	return table.Flush()
}

const hostModel = "gemini-2.5-flash"

// scriptedModel is a model that declares a plan, reads the notes again and again, and ends.
type scriptedModel struct {
	url    string
	server *http.Server
	asked  int // the host asks one after the other
}

func (m *scriptedModel) listen(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	m.url = "http://" + listener.Addr().String()
	m.server = &http.Server{Handler: m, ReadHeaderTimeout: time.Minute}
	go func() { _ = m.server.Serve(listener) }() // ends with close
	return nil
}

func (m *scriptedModel) close() { _ = m.server.Close() }
func (m *scriptedModel) begin() { m.asked = 0 }

// ServeHTTP plays the next turn.
func (m *scriptedModel) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	type object = map[string]any
	call := func(tool string, arguments object) object {
		return object{"functionCall": object{"name": tool, "args": arguments}}
	}
	m.asked++
	part := call("read_file", object{"file_path": "notes.txt"})
	switch {
	case m.asked == 1:
		part = call("mcp_writ_register_intent_plan", object{
			"goal": "read the notes", "steps": []any{object{"action": "read_file"}},
		})
	case m.asked > hostCalls+1:
		part = object{"text": "done"}
	}
	text, _ := json.Marshal(object{ // texts alone
		"candidates": []any{object{
			"content": object{"role": "model", "parts": []any{part}}, "finishReason": "STOP", "index": 0,
		}},
		"usageMetadata": object{"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110},
		"modelVersion":  hostModel,
	})
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: %s\r\n\r\n", text)
}
