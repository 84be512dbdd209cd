package doctor

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"writ/internal/hook"
	"writ/internal/hook/gemini"
	"writ/internal/hook/guardfile"
	"writ/internal/hook/setup"
)

// fire runs a session of its own through every hook, as the host starts them: the commands that the settings hold, in
// bash, with the host's payloads.
func (e *examination) fire(ctx context.Context) {
	if e.guard == nil || !e.passed("programs") || !e.passed("shell") {
		e.add("hooks", Skipped, "the guard file, its programs and bash must work first", "")
		return
	}
	if !e.passed("server") || !e.passed("key") {
		e.add("hooks", Skipped, "the server must answer and accept the key first", "")
		return
	}
	s := &session{examination: e, id: "writ-doctor-" + strings.ToLower(rand.Text())}
	for _, step := range s.steps() {
		began := time.Now()
		if problem := step.check(s.run(ctx, step)); problem != "" {
			e.add("hooks", Failed,
				fmt.Sprintf("%s (%s): %s", step.event, time.Since(began).Round(time.Millisecond), problem),
				"see docs/coding-agents.md; "+initAgain)
			return
		}
	}
	e.add("hooks", OK, "all six answer", "")
	e.plans(ctx)
}

// session is a session of the doctor's own.
type session struct {
	*examination
	id     string
	ticket string
}

// step is one event of it.
type step struct {
	event   hook.Event
	name    string // as the host calls it
	members map[string]any
	check   func(answer) (problem string)
}

// answer is what a hook's process left.
type answer struct {
	text string
	err  error
	read struct {
		Decision      string `json:"decision"`
		Reason        string `json:"reason"`
		SystemMessage string `json:"systemMessage"`
		Specific      struct {
			Context   string         `json:"additionalContext"`
			ToolInput map[string]any `json:"tool_input"`
		} `json:"hookSpecificOutput"`
	}
}

func (s *session) steps() []step {
	own := map[string]any{
		"server_name": setup.Name, "tool_name": "get_intent_plan", "command": s.guard.PlanServer,
		"args": []string{"--config", s.guard.Path()},
	}
	planTool := map[string]any{
		"tool_name": "mcp_writ_get_intent_plan", "tool_input": map[string]any{}, "mcp_context": own,
	}
	ran := map[string]any{
		"tool_name": "mcp_writ_get_intent_plan", "mcp_context": own,
		"tool_response": map[string]any{"llmContent": "no plan"},
	}
	return []step{
		{hook.SessionStart, gemini.SessionStart, map[string]any{"source": "startup"}, greets},
		{hook.BeforeAgent, gemini.BeforeAgent, map[string]any{"prompt": "writ doctor"}, speaks},
		{hook.BeforeToolSelection, gemini.BeforeToolSelection, map[string]any{"llm_request": map[string]any{}}, silent},
		{hook.BeforeTool, gemini.BeforeTool, map[string]any{
			"tool_name": "read_file", "tool_input": map[string]any{"file_path": "README.md"},
		}, s.unplanned},
		{hook.BeforeTool, gemini.BeforeTool, planTool, func(a answer) string {
			ran["tool_input"] = a.read.Specific.ToolInput
			return s.handsOver(a)
		}},
		{hook.AfterTool, gemini.AfterTool, ran, quiet},
		{hook.SessionEnd, gemini.SessionEnd, map[string]any{"reason": "exit"}, quiet},
	}
}

// greets: the answer tells the person who guards the session.
func greets(a answer) string {
	if problem := quiet(a); problem != "" || strings.HasPrefix(a.read.SystemMessage, "Writ guards") ||
		strings.HasPrefix(a.read.SystemMessage, "Writ only WATCHES") {
		return problem
	}
	return "it does not guard the session: " + a.read.SystemMessage
}

// speaks: the answer tells the model something, and stops nothing.
func speaks(a answer) string {
	if problem := quiet(a); problem != "" || a.read.Specific.Context != "" {
		return problem
	}
	return "it does not tell the model of its guard: " + a.read.SystemMessage
}

// quiet: the answer is whole, and stops nothing.
func quiet(a answer) string {
	if a.err != nil {
		return a.err.Error()
	}
	if a.read.Decision != "" {
		return a.read.Reason
	}
	return ""
}

// silent: any word would change what the model is sent.
func silent(a answer) string {
	if a.err != nil && a.text == "" {
		return ""
	}
	if a.text != "" {
		return "it must say nothing: " + short(a.text)
	}
	return ""
}

// unplanned: nothing is planned in this session, so that nothing may run.
func (s *session) unplanned(a answer) string {
	switch {
	case a.err != nil:
		return a.err.Error()
	case s.guard.Mode == guardfile.Monitor && a.read.Decision == gemini.Allow:
		return ""
	case a.read.Decision != gemini.Deny:
		return "it lets a tool run that no plan names: " + short(a.text)
	case strings.Contains(a.read.Reason, "nothing was decided"):
		return a.read.Reason
	}
	return ""
}

// handsOver: a call of the plan server gets a ticket.
func (s *session) handsOver(a answer) string {
	if a.err != nil {
		return a.err.Error()
	}
	s.ticket, _ = a.read.Specific.ToolInput["session_ticket"].(string)
	if a.read.Decision != gemini.Allow || s.ticket == "" {
		return "the plan server gets no ticket: " + a.read.Reason
	}
	return ""
}

// run starts a hook and waits for it as long as the host does.
func (s *session) run(ctx context.Context, st step) (a answer) {
	payload := map[string]any{
		"session_id": s.id, "transcript_path": "", "cwd": s.Project, "hook_event_name": st.name,
		"timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
	}
	for name, value := range st.members {
		payload[name] = value
	}
	text, err := json.Marshal(payload)
	if err != nil {
		return answer{err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, setup.Timeout(s.guard, st.event))
	defer cancel()
	command := exec.CommandContext(ctx, s.shell(), "-c", setup.Command(s.guard, st.event))
	command.Dir, command.Stdin = s.Project, bytes.NewReader(text)
	command.Env = s.environment()
	command.WaitDelay = time.Second
	out, err := command.Output()
	a.text = strings.TrimSpace(string(out))
	switch {
	case ctx.Err() != nil:
		a.err = fmt.Errorf("it did not answer in time")
	case a.text == "" && err != nil:
		a.err = fmt.Errorf("it ended with %w and said nothing", err)
	case a.text != "" && json.Unmarshal([]byte(a.text), &a.read) != nil:
		a.err = fmt.Errorf("it said something that is no JSON: %s", short(a.text))
	}
	return a
}

// shell is the one that the host finds for hooks.
func (s *session) shell() string {
	for _, folder := range filepath.SplitList(setup.Environment(s.guard)["PATH"]) {
		if path, err := exec.LookPath(filepath.Join(folder, "bash")); err == nil {
			return path
		}
	}
	return "bash"
}

// environment is what the host passes on, with what the settings lay over it.
func (s *session) environment() []string {
	env := append(os.Environ(), "GEMINI_CLI=1", "GEMINI_SESSION_ID="+s.id, "GEMINI_PROJECT_DIR="+s.Project)
	for name, value := range setup.Environment(s.guard) {
		env = append(env, name+"="+value)
	}
	return env
}
