package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// How often hooks are timed, and the targets.
const (
	hookStarts  = 301
	nodeStarts  = 41
	denyLimit   = 4.0 // times /bin/true
	askLimit    = 6.0
	nodeLimit   = 1.0 / 20
	spreadLimit = 2.5 // p95 over the median
)

// nodeHook is the least that a hook in Node does: it reads the payload, asks a server once and prints the answer.
const nodeHook = `
let text = '';
process.stdin.on('data', part => { text += part; });
process.stdin.on('end', async () => {
  const call = JSON.parse(text);
  const response = await fetch(process.env.HOOK_URL, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-API-Key': process.env.HOOK_KEY },
    body: JSON.stringify({ source: 'gemini-cli', agent_id: 'gemini-cli', session_id: call.session_id,
      session_turn: 1, tool_name: call.tool_name, tool_input: call.tool_input }),
  });
  const answer = await response.json();
  process.stdout.write(JSON.stringify({ decision: answer.allowed ? 'allow' : 'deny', reason: answer.reason }));
});
`

// hook measures writ hook before-tool, the whole process: a call that it denies by itself, and one that the server
// allows. /bin/true, and a hook in Node that asks the same server, take turns with it.
func (b *bench) hook(ctx context.Context) (err error) {
	server, _, err := b.installations[0].start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	m, err := b.newGuarded(ctx, server, "hook")
	if err != nil {
		return err
	}
	if err := m.openTurn(ctx); err != nil {
		return err
	}
	times, err := m.measure(ctx)
	if err != nil {
		return err
	}
	if err := printHooks(times); err != nil {
		return err
	}
	return m.printHostHooks(ctx)
}

// guarded is a machine with a guard file.
type guarded struct {
	folder, writ string
	account      *account
}

func (b *bench) newGuarded(ctx context.Context, server *process, name string) (*guarded, error) {
	owner, err := signIn(ctx, b.installations[0], server)
	if err != nil {
		return nil, err
	}
	a, err := owner.inNewOrganization(ctx, "Hooks")
	if err != nil {
		return nil, err
	}
	const policy = `{"version":"v1","name":"hooks","rules":[{"id":"read","effect":"allow","tools":["gemini-cli.read_file"]}]}`
	if err := a.activate(ctx, []byte(policy)); err != nil {
		return nil, err
	}
	m := &guarded{folder: filepath.Join(b.folder, name), account: a}
	if err := os.MkdirAll(filepath.Join(m.folder, "project"), 0o700); err != nil {
		return nil, err
	}
	for _, program := range []string{"writ-client", "writ-plan"} {
		if _, err := installed(filepath.Join(filepath.Dir(b.writ), program), m.folder); err != nil {
			return nil, err
		}
	}
	if m.writ, err = installed(b.writ, m.folder); err != nil {
		return nil, err
	}
	if err := errors.Join(m.guard(ctx, m.folder), m.takeKey()); err != nil {
		return nil, err
	}
	return m, os.WriteFile(m.path("hook.js"), []byte(nodeHook), 0o600)
}

func (m *guarded) path(name string) string { return filepath.Join(m.folder, name) }

// guard has the host of a home guarded as a person has it: by writ init.
func (m *guarded) guard(ctx context.Context, home string) error {
	command := exec.CommandContext(ctx, m.writ, "init", "gemini", "--org", m.account.org, "--wait", "0")
	command.Dir = m.path("project")
	command.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "WRIT_URL=http://" + m.account.server.address,
		"WRIT_ACCESS_TOKEN=" + m.account.token,
	}
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("writ init gemini: %w: %s", err, output)
	}
	return nil
}

// takeKey has the account use the key of the guard file, to which the session of the hooks belongs.
func (m *guarded) takeKey() error {
	text, err := os.ReadFile(m.path(guardFile))
	if err != nil {
		return err
	}
	var guard struct {
		Key string `json:"key"`
	}
	err = json.Unmarshal(text, &guard)
	m.account.key = guard.Key
	return err
}

// hostHook is a hook as the settings of the host have it.
type hostHook struct {
	Command string            `json:"command"`
	Env     map[string]string `json:"env"`
}

// installed is the hook that writ init has written for an event of the host.
func (m *guarded) installed(event string) (hostHook, error) {
	text, err := os.ReadFile(m.path(".gemini/settings.json"))
	if err != nil {
		return hostHook{}, err
	}
	var settings struct {
		Hooks map[string][]struct {
			Hooks []hostHook `json:"hooks"`
		} `json:"hooks"`
	}
	if err := json.Unmarshal(text, &settings); err != nil {
		return hostHook{}, err
	}
	groups := settings.Hooks[event]
	if len(groups) != 1 || len(groups[0].Hooks) != 1 {
		return hostHook{}, fmt.Errorf("writ init has not written one hook for %s", event)
	}
	return groups[0].Hooks[0], nil
}

// guardFile is where writ init puts the guard file.
const guardFile = ".config/writ/guard.json"

const hookSession = "5f0c7a52-53ff-4be6-a3a5-0d8d5c1f5a11"

// payload is what the host tells of an event.
func (m *guarded) payload(event string, more map[string]any) []byte {
	members := map[string]any{
		"session_id": hookSession, "transcript_path": m.path("transcript.jsonl"), "cwd": m.path("project"),
		"hook_event_name": event, "timestamp": "2026-11-16T12:00:00.000Z",
	}
	for name, value := range more {
		members[name] = value
	}
	text, _ := json.Marshal(members) // texts alone
	return text
}

// openTurn has the hooks open a session and a turn, and declares a plan as the plan server does.
func (m *guarded) openTurn(ctx context.Context) error {
	start := m.payload("SessionStart", map[string]any{"source": "startup"})
	if _, _, err := m.fire(ctx, start, m.writ, m.arguments("session-start")...); err != nil {
		return err
	}
	turn := m.payload("BeforeAgent", map[string]any{"prompt": "read the notes"})
	if _, _, err := m.fire(ctx, turn, m.writ, m.arguments("before-agent")...); err != nil {
		return err
	}
	var ticket struct {
		Ticket string `json:"ticket"`
	}
	if err := m.post(ctx, "/iap/session/ticket", map[string]any{"session_id": hookSession, "turn": 1},
		&ticket); err != nil {
		return err
	}
	step := map[string]any{"action": "read_file", "tool": "read_file", "mcp": "gemini-cli"}
	return m.post(ctx, "/iap/sdk/token", map[string]any{
		"plan":           map[string]any{"goal": "read the notes", "steps": []any{step}},
		"session_ticket": ticket.Ticket,
	}, nil)
}

func (m *guarded) post(ctx context.Context, path string, document, answer any) error {
	text, err := json.Marshal(document)
	if err != nil {
		return err
	}
	got, err := m.account.send(ctx, http.MethodPost, path, "X-Api-Key", m.account.key, bytes.NewReader(text))
	if err != nil || answer == nil {
		return err
	}
	return json.Unmarshal(got, answer)
}

func (m *guarded) arguments(event string) []string {
	return []string{"hook", "--config", m.path(guardFile), event}
}

// fire runs a hook and times the whole process.
func (m *guarded) fire(
	ctx context.Context, payload []byte, program string, arguments ...string,
) (string, time.Duration, error) {
	command := exec.CommandContext(ctx, program, arguments...)
	command.Dir = m.path("project")
	command.Env = append(cleanEnvironment(), "HOME="+m.folder, "HOOK_KEY="+m.account.key,
		"HOOK_URL=http://"+m.account.server.address+"/iap/enforce")
	command.Stdin = bytes.NewReader(payload)
	begin := time.Now()
	output, err := command.Output()
	took := time.Since(begin)
	if err != nil {
		return "", 0, fmt.Errorf("run %s %v: %w", program, arguments, err)
	}
	return string(output), took, nil
}

// hookTimes are the times of one kind of hook.
type hookTimes struct {
	name  string
	times []time.Duration
}

// measure runs the hooks in turns.
func (m *guarded) measure(ctx context.Context) ([]hookTimes, error) {
	call := map[string]any{"tool_name": "read_file", "tool_input": map[string]any{"file_path": "notes.txt"}}
	read := m.payload("BeforeTool", call)
	call["tool_response"] = map[string]any{"llmContent": "notes", "returnDisplay": ""}
	outcome := m.payload("AfterTool", call)
	write := m.payload("BeforeTool", map[string]any{
		"tool_name": "write_file", "tool_input": map[string]any{"file_path": m.path(guardFile), "content": "{}"},
	})
	before := m.arguments("before-tool")
	kinds := []struct {
		name    string
		payload []byte
		program string
		args    []string
		answers string
		starts  int
	}{
		{"/bin/true", nil, "/bin/true", nil, "", hookStarts},
		{"writ, denied on the machine", write, m.writ, before, `"decision":"deny"`, hookStarts},
		{"writ, allowed by the server", read, m.writ, before, `"decision":"allow"`, hookStarts},
		{"Node, allowed by the server", read, "node", []string{m.path("hook.js")}, `"decision":"allow"`, nodeStarts},
	}
	all := make([]hookTimes, len(kinds))
	for i := range hookStarts {
		for n, k := range kinds {
			if i >= k.starts {
				continue
			}
			output, took, err := m.fire(ctx, k.payload, k.program, k.args...)
			if err != nil {
				return nil, err
			}
			if !strings.Contains(output, k.answers) {
				return nil, fmt.Errorf("%s: answered %s", k.name, output)
			}
			all[n] = hookTimes{k.name, append(all[n].times, took)}
		}
		// A call that was allowed has run before the next one comes.
		if _, _, err := m.fire(ctx, outcome, m.writ, m.arguments("after-tool")...); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func printHooks(all []hookTimes) error {
	table := newTable(os.Stdout, "writ hook before-tool", "median", "p95", "of /bin/true", "of Node", "target", "")
	nothing, node := median(all[0].times), median(all[3].times)
	limits := []float64{0, denyLimit, askLimit, 0}
	for i, h := range all {
		middle := median(h.times)
		p95 := percentile(slices.Sorted(slices.Values(h.times)), 95)
		ofTrue, ofNode := float64(middle)/float64(nothing), float64(middle)/float64(node)
		target, verdict := "-", ""
		if limits[i] > 0 {
			target = fmt.Sprintf("%.0f x, 1/20, p95 %.1f x", limits[i], spreadLimit)
			if ofTrue > limits[i] || ofNode > nodeLimit || float64(p95) > spreadLimit*float64(middle) {
				verdict = "missed"
			}
		}
		table.row(h.name, milliseconds(middle), milliseconds(p95), fmt.Sprintf("%.1f x", ofTrue),
			fmt.Sprintf("1/%.0f", 1/ofNode), target, verdict)
	}
	return table.Flush()
}
