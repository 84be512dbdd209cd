package hosttest_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"writ/internal/hook/hosttest"
)

// TestWhatAPersonSees: in the real host, a call that is denied or held is one short line with the reason, the
// rule and the next step. With WRIT_PICTURE it writes what the terminal showed into that file.
func TestWhatAPersonSees(t *testing.T) {
	t.Parallel()
	o := newOffice(t, hosttest.Newest(t), policy, nil)
	o.Env = append(o.Env, "a=1") // the host puts variables into the commands of settings
	const prompt = "touch a file"
	run := o.Run(t, prompt, hosttest.Turns(
		hosttest.Calls(touch("a.txt")),
		hosttest.Calls(register(map[string]any{"goal": "touch a.txt", "steps": []any{
			step("run_shell_command", map[string]any{"command": "touch a.txt"}), step("web_fetch", nil),
		}})),
		hosttest.Calls(hosttest.Call{
			Tool: "web_fetch", Arguments: map[string]any{"prompt": "read https://example.org/"},
		}),
		hosttest.Calls(touch("a.txt")),
	))
	if o.Has("a.txt") {
		t.Error("a held call ran")
	}
	for _, want := range []string{
		`Writ guards this session as gemini-cli .*`,
		`Writ denied run_shell_command: this turn has no plan\. The model is told to declare one`,
		`Writ denied web_fetch: .*`,
		`Writ holds run_shell_command: .*rule commands.*\. ` +
			`Answer it: writ approvals approve \S+, or http://\S+/ui/approvals/\S+`,
	} {
		if !regexp.MustCompile(`(?m)^.*` + want + `$`).MatchString(run.Stderr) {
			t.Errorf("the person does not see %q: %s", want, run.Stderr)
		}
	}
	var shown []string
	for line := range strings.Lines(run.Stderr) {
		if strings.Contains(line, "Writ") {
			shown = append(shown, strings.TrimSpace(line))
		}
		if strings.Contains(line, "Writ ") && len(line) > 350 {
			t.Errorf("%d bytes are no short line: %s", len(line), line)
		}
	}
	if file := os.Getenv("WRIT_PICTURE"); file != "" {
		text := strings.ReplaceAll("$ gemini --prompt '"+prompt+"'\n"+strings.Join(shown, "\n")+"\n",
			o.gate.URL,
			"http://localhost:8080")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
