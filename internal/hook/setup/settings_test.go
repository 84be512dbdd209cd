package setup_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"writ/internal/hook"
	"writ/internal/hook/guardfile"
	"writ/internal/hook/setup"
)

func guard(t *testing.T) *guardfile.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "it's a guard.json")
	text := `{"version":1,"server":"https://writ.test","key":"ak_live_x","organization":"o","agent":"gemini-cli",
	"host":"gemini","manifest":"","mode":"enforce","approvalWaitSeconds":60,"carryPlan":false,"stateDir":"/srv/state",
	"writ":"/opt/it's writ/writ","planServer":"/opt/writ/writ-plan","capabilities":[],"protected":[]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := guardfile.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

const empty = "{}"

// settings are texts that people have, with what must be found among our hooks after it.
var settings = []string{
	empty,
	" {\n}\n",
	"{\n  \"theme\": \"dark\"\n}\n",
	"// mine\n{ /* a */ \"theme\": \"dark\", // why\n \"ui\": {\"hooks\": [1, -2.5e3, true, null, \"\\\"]\"]} }\n// end",
	`{"hooks":{}}`,
	"{\n\t\"hooks\": {\n\t\t// nothing yet\n\t},\n\t\"theme\": \"dark\"\n}",
	`{"hooks":{"BeforeTool":[]}}`,
	`{"a":[[],{}],"hooks":{"BeforeTool":[ {"matcher":"x","hooks":[{"type":"command","command":"true"}]} ],"AfterTool":[]},"z":1}`,
	"{\r\n  \"hooks\": {\r\n    \"SessionEnd\": [\r\n    ]\r\n  }\r\n}\r\n",
}

func TestInsertAndRemove(t *testing.T) {
	t.Parallel()
	g := guard(t)
	for _, before := range settings {
		after, inserted, err := setup.Insert(before, g)
		if err != nil {
			t.Errorf("%s: %v", before, err)
			continue
		}
		checkHooks(t, after, setup.HookName(g))
		back, err := setup.Remove(after, inserted)
		if err != nil || back != before {
			t.Errorf("removed: %v: %q, want %q", err, back, before)
		}
		edited := strings.Replace(after, "dark", "light", 1)
		if back, err := setup.Remove(edited, inserted); err != nil ||
			back != strings.Replace(before, "dark", "light", 1) {
			t.Errorf("removed after an edit: %v: %q", err, back)
		}
		ours := strings.Replace(after, "exit 2", "exit 0", 1)
		if back, err := setup.Remove(ours, inserted); err != nil || strings.Contains(back, "before-tool") {
			t.Errorf("a hook of ours that somebody has changed stays: %v: %q", err, back)
		}
	}
}

// checkHooks reads settings as the host does: without comments, then as JSON.
func checkHooks(t *testing.T, text, name string) {
	t.Helper()
	var read struct {
		Hooks map[string][]struct {
			Matcher string
			Hooks   []struct {
				Type, Name, Command string
				Timeout             int64
				Env                 map[string]string
			}
		}
	}
	if err := json.Unmarshal([]byte(withoutComments(text)), &read); err != nil {
		t.Errorf("not JSON any more: %v: %s", err, text)
		return
	}
	for event, word := range map[string]string{
		"SessionStart": "session-start", "BeforeAgent": "before-agent", "BeforeToolSelection": "before-tool-selection",
		"BeforeTool": "before-tool", "AfterTool": "after-tool", "SessionEnd": "session-end",
	} {
		if len(read.Hooks[event]) == 0 || len(read.Hooks[event][0].Hooks) != 1 {
			t.Errorf("%s has no hook: %s", event, text)
			continue
		}
		h := read.Hooks[event][0].Hooks[0]
		limit := int64(30_000)
		if event == "BeforeTool" {
			limit = 90_000
		}
		if h.Type != "command" || h.Name != name || !strings.Contains(h.Command, " "+word) || h.Timeout != limit ||
			h.Env["SHLVL"] != "2" {
			t.Errorf("%s: %+v", event, h)
		}
	}
}

// withoutComments is enough for the texts above, in which no string has slashes but those of paths.
func withoutComments(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if before, _, found := strings.Cut(line, "// "); found {
			line = before + "\n"
		}
		kept.WriteString(line)
	}
	return strings.ReplaceAll(kept.String(), "/* a */", "")
}

func TestInsertRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                 "a { is missing",
		"[]":                               "a { is missing",
		"{":                                "line 1",
		"{} x":                             "behind the object",
		`{"hooks":{},"hooks":{}}`:          "twice",
		`{"hooks":{"A":[],"A":[]}}`:        "twice",
		`{"hooks":[]}`:                     "a { is missing",
		`{"hooks":{"BeforeTool":{}}}`:      "a [ is missing",
		"{\n\"a\":1\n\"b\":2}":             "line 3: a comma",
		`{"a":}`:                           "a value is missing",
		`{"a":1,}`:                         "a comma stands before the end",
		`{"a":"\x"}`:                       "not JSON",
		`{"a":"open}`:                      "not JSON",
		`{/* open`:                         "a text is missing",
		`{"a":` + strings.Repeat("[", 999): "too deep",
	} {
		if _, _, err := setup.Insert(text, guard(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestCommandOfAProgramThatIsMissing: paths with quotes are quoted, and silence is a deny.
func TestCommandOfAProgramThatIsMissing(t *testing.T) {
	t.Parallel()
	g := guard(t)
	for event, want := range map[hook.Event]string{
		hook.BeforeTool: `{"decision":"deny"`, hook.SessionStart: `{"decision":"deny"`, hook.BeforeToolSelection: "",
	} {
		output, err := exec.CommandContext(t.Context(), "bash", "-c", setup.Command(g, event)).Output()
		if !strings.HasPrefix(string(output), want) || want == "" && (len(output) > 0 || err != nil) {
			t.Errorf("%s: %q, %v", event, output, err)
		}
	}
	silent := *g
	silent.Writ = "/bin/true"
	output, err := exec.CommandContext(t.Context(), "bash", "-c", setup.Command(&silent, hook.BeforeTool)).Output()
	if !strings.HasPrefix(string(output), `{"decision":"deny"`) || err == nil {
		t.Errorf("a program that says nothing: %q, %v", output, err)
	}
}

// TestHookName: a project cannot know the name of our hooks, which stays while the key does. Hooks of earlier names are
// still ours.
func TestHookName(t *testing.T) {
	t.Parallel()
	g := guard(t)
	name := setup.HookName(g)
	if name != setup.HookName(g) || !strings.HasPrefix(name, "writ-") || len(name) < 20 {
		t.Errorf("the name is %q", name)
	}
	other := *g
	other.Key = "ak_live_y"
	if setup.HookName(&other) == name || setup.HookName(guard(t)) == name {
		t.Errorf("another key or another guard file has the name %q too", name)
	}
	for hook, want := range map[string]bool{"writ": true, name: true, "writ2": false, "": false} {
		if e := (setup.Entry{Name: hook, Command: setup.Command(g, "before-tool")}); e.IsOurs() != want {
			t.Errorf("a hook named %q is ours: %t", hook, !want)
		}
	}
	if !strings.Contains(setup.Extension(g)["hooks/hooks.json"], `"name": "`+name+`"`) {
		t.Error("the hooks of the extension have another name, so that they run twice")
	}
}
