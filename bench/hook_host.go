package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// printHostHooks measures the three hooks of every call as the host starts them, in the place of bash, beside bash
// with a command that does nothing.
func (m *guarded) printHostHooks(ctx context.Context) error {
	arguments := map[string]any{"file_path": "notes.txt"}
	kinds := []struct {
		event   string
		payload map[string]any
		answers string
	}{
		{"", nil, ""},
		{"BeforeToolSelection", map[string]any{"llm_request": map[string]any{"model": hostModel}}, ""},
		{"BeforeTool", map[string]any{"tool_name": "read_file", "tool_input": arguments}, `{"decision":"allow"}`},
		{"AfterTool", map[string]any{
			"tool_name": "read_file", "tool_input": arguments,
			"tool_response": map[string]any{"llmContent": "notes", "returnDisplay": ""},
		}, ""},
	}
	all := make([]hookTimes, len(kinds))
	for range hookStarts {
		for n, k := range kinds {
			hook := hostHook{Command: "true", Env: map[string]string{"PATH": "/usr/bin:/bin"}}
			if k.event != "" {
				var err error
				if hook, err = m.installed(k.event); err != nil {
					return err
				}
			}
			output, took, err := m.fireAsHost(ctx, hook, m.payload(k.event, k.payload))
			if err != nil {
				return fmt.Errorf("%s: %w", k.event, err)
			}
			if !strings.Contains(output, k.answers) || strings.Contains(output, "deny") {
				return fmt.Errorf("%s: answered %s", k.event, output)
			}
			all[n] = hookTimes{k.event, append(all[n].times, took)}
		}
	}
	all[0].name = "bash -c true"
	table := newTable(os.Stdout, "hooks as the host starts them", "median", "of bash")
	for _, h := range all {
		middle := median(h.times)
		table.row(h.name, milliseconds(middle), fmt.Sprintf("%.1f x", float64(middle)/float64(median(all[0].times))))
	}
	return table.Flush()
}

// fireAsHost starts a hook as the host does, and times the whole process.
func (m *guarded) fireAsHost(ctx context.Context, hook hostHook, payload []byte) (string, time.Duration, error) {
	folder, _, _ := strings.Cut(hook.Env["PATH"], ":")
	command := exec.CommandContext(ctx, filepath.Join(folder, "bash"))
	command.Args = []string{"bash", "-c", hook.Command}
	command.Dir = m.path("project")
	command.Env = append(cleanEnvironment(), "HOME="+m.folder)
	for name, value := range hook.Env {
		command.Env = append(command.Env, name+"="+value)
	}
	command.Stdin = bytes.NewReader(payload)
	begin := time.Now()
	output, err := command.Output()
	return string(output), time.Since(begin), err
}
