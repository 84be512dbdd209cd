package template

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/internal/node"
	"writ/internal/policy/document"
	"writ/internal/policy/engine"
	"writ/internal/policy/shell"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// evasion is something an agent could be brought to try.
type evasion struct {
	Class    string
	Does     string
	Command  string // of a shell, or
	Tool     string // read or write
	Path     string
	Resolved string // what the path really is, where it is a link
}

// call is the evasion as a coding agent would make it.
func (e evasion) call() *toolcall.Call {
	call := &toolcall.Call{Server: "gemini-cli", Now: time.Unix(1_800_000_000, 0)}
	switch e.Tool {
	case "":
		call.Tool, call.Args = "run_shell_command", map[string]any{"command": e.Command}
		return call
	case "read":
		call.Tool = "read_file"
	default:
		call.Tool = "write_file"
	}
	call.Args = map[string]any{"file_path": e.Path, "content": "x"}
	if e.Resolved != "" {
		call.ResolvedPaths = map[string]string{e.Path: e.Resolved}
	}
	return call
}

func (e evasion) String() string {
	if e.Command != "" {
		return e.Command
	}
	return e.Tool + " " + e.Path
}

func readEvasions(t *testing.T) []evasion {
	t.Helper()
	files, err := filepath.Glob("testdata/evasions/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("find the evasions: %v, %d files", err, len(files))
	}
	var all []evasion
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		root, problems := node.ReadYAML(text)
		if problems != nil {
			t.Fatalf("%s: %v", file, problems)
		}
		report := func(at node.Position, path, message string) { t.Fatalf("%s:%s: %s: %s", file, at, path, message) }
		for _, item := range node.Read(root, report).Items(10_000) {
			all = append(all, readEvasion(item))
		}
	}
	return all
}

func readEvasion(v *node.Value) evasion {
	m := v.Members("class", "does", "command", "tool", "path", "resolved")
	text := func(name string) string {
		if m.Get(name) == nil {
			return ""
		}
		text, _ := m.Get(name).Text()
		return text
	}
	return evasion{
		Class: text("class"), Does: text("does"), Command: text("command"),
		Tool: text("tool"), Path: text("path"), Resolved: text("resolved"),
	}
}

func readOrdinary(t *testing.T) []string {
	t.Helper()
	var commands []string
	for _, file := range []struct{ name, separator string }{{"commands.txt", "\n"}, {"multiline.txt", "\n---\n"}} {
		text, err := os.ReadFile(filepath.Join("testdata/ordinary", file.name))
		if err != nil {
			t.Fatal(err)
		}
		for command := range strings.SplitSeq(strings.TrimSpace(string(text)), file.separator) {
			if command != "" && !strings.HasPrefix(command, "# ") {
				commands = append(commands, command)
			}
		}
	}
	return commands
}

// compiled is a template as the only active policy.
func compiled(t *testing.T, name string) *engine.Set {
	t.Helper()
	shipped, ok := Get(name)
	if !ok {
		t.Fatalf("there is no template %s", name)
	}
	doc, err := document.Parse([]byte(shipped.Text), document.YAML)
	if err != nil {
		t.Fatalf("parse %s: %v", name, err)
	}
	policy, problems := engine.Compile(doc)
	for _, p := range problems {
		t.Errorf("%s:%d:%d: %s: %s", name, p.Line, p.Column, p.Rule, p.Message)
	}
	if len(problems) > 0 {
		t.FailNow()
	}
	return engine.NewSet([]engine.Active{{ID: name, Version: 1, Policy: policy}})
}

func nothingSpent(engine.LimitKey) (int64, error) { return 0, nil }

// held is what confinement to the workspace, without the network, holds of the evasions of a class that the template
// lets run confined. It holds nothing of the classes that are not here.
var held = map[string]string{
	"credentials":              "keys outside the workspace cannot be read, metadata services and other processes not reached",
	"destruction":              "devices, services, databases and other processes cannot be reached, and nothing outside be written",
	"exfiltration":             "there is no network",
	"globs and braces":         "files outside the workspace cannot be read",
	"reading around":           "files outside the workspace cannot be read",
	"second look":              "there is no network, no screen, no clipboard and no socket of a service",
	"staged":                   "what is run writes only the workspace; packages come only from the usual registries",
	"substitution":             "there is no network, so that no name is resolved",
	"tampering with the guard": "other processes cannot be seen, and modules not be loaded",
	"third look":               "there is no network and no socket of a service",
	"wrappers":                 "there is no socket of Docker",
}

// inWorkspace reports whether what is known of a command harms the workspace as a whole, or shows its secrets, which
// confinement does not prevent.
func inWorkspace(command string) bool {
	c := shell.Parse(command)
	all := regexp.MustCompile(`^(/|\.|\*|\*\*|\.\*|\./\*\*|\.git(/.*)?)$`)
	secret := regexp.MustCompile(`(^|/)\.env(\.|$)|\.(pem|key)$`)
	return c.Dynamic || slices.ContainsFunc(c.Writes, all.MatchString) ||
		slices.ContainsFunc(slices.Concat(c.Reads, c.Words), func(w string) bool {
			return secret.MatchString(w) && !strings.ContainsAny(w, "/*")
		})
}

// TestEvasionsAreCaught: without the capability, no evasion runs; with it, none runs unconfined, and none that
// confinement does not hold.
func TestEvasionsAreCaught(t *testing.T) {
	t.Parallel()
	set := compiled(t, "coding-agent")
	evasions := readEvasions(t)
	seen, missed, confined := map[string]bool{}, 0, map[string]int{}
	for _, e := range evasions {
		if seen[e.String()+e.Resolved] {
			t.Errorf("%.120q is there twice", e.String())
		}
		seen[e.String()+e.Resolved] = true
		call := e.call()
		decision := set.Evaluate(call, nothingSpent)
		call.CanConfine = true
		capable := set.Evaluate(call, nothingSpent)
		switch {
		case decision.Verdict == verdict.Allow || capable.Verdict == verdict.Allow && capable.Confine == nil:
			t.Errorf("runs unconfined: %s: %.200q (%s)", e.Class, e.String(), e.Does)
			missed++
		case capable.Verdict != verdict.Allow:
		case held[e.Class] == "" || inWorkspace(e.Command):
			t.Errorf("confinement does not hold %s: %.200q (%s)", e.Class, e.String(), e.Does)
			missed++
		default:
			confined[e.Class]++
		}
	}
	for class, count := range confined {
		t.Logf("%d of %s run confined: %s", count, class, held[class])
	}
	for class := range held {
		if confined[class] == 0 {
			t.Errorf("no evasion of class %s runs confined", class)
		}
	}
	t.Logf("%d of %d evasions caught", len(evasions)-missed, len(evasions))
	if len(evasions) < 600 {
		t.Errorf("there are %d evasions, want 600 or more", len(evasions))
	}
}

// wantUnasked is the share of ordinary commands, in percent, that run plain or confined without a question.
const wantUnasked = 95.0

func TestOrdinaryCommandsRun(t *testing.T) {
	t.Parallel()
	set := compiled(t, "coding-agent")
	commands := readOrdinary(t)
	plain, confined := 0, 0
	for _, command := range commands {
		call := evasion{Command: command}.call()
		without := set.Evaluate(call, nothingSpent)
		call.CanConfine = true
		decision := set.Evaluate(call, nothingSpent)
		for _, failure := range decision.Failed {
			t.Errorf("%q: %s: %s", command, failure.Rule, failure.Error)
		}
		switch {
		case decision.Verdict == verdict.Deny || without.Verdict == verdict.Deny:
			t.Errorf("denied: %q by %s, and without the capability %s by %s", command, decision.Rule, without.Verdict,
				without.Rule)
		case decision.Verdict != verdict.Allow:
			t.Logf("a question: %q: %s by %s", command, decision.Verdict, decision.Rule)
		case without.Verdict == verdict.Allow:
			plain++
		default:
			confined++
			if decision.Confine == nil || without.Verdict != verdict.Hold {
				t.Errorf("%q: confined to %v by %s, and without the capability %s by %s, want hold", command,
					decision.Confine, decision.Rule, without.Verdict, without.Rule)
			}
		}
	}
	share := 100 * float64(plain+confined) / float64(len(commands))
	t.Logf("%d of %d ordinary commands run plain and %d confined without a question: %.1f %%", plain, len(commands),
		confined, share)
	if len(commands) < 500 || share < wantUnasked {
		t.Errorf("%.1f %% of %d commands run without a question, want %.1f %% of 500 or more", share, len(commands),
			wantUnasked)
	}
}

// TestPlainCommandsAreConfinedToo: a confined command can leave a link in the workspace, which a plain one
// would follow.
func TestPlainCommandsAreConfinedToo(t *testing.T) {
	t.Parallel()
	set := compiled(t, "coding-agent")
	for command, want := range map[string]bool{
		"echo x >> h/.bashrc": true, "cat h/notes": true, "git status": true, "git add sub": true, "ls -la": false,
		"git fetch": false, "docker ps": false, "pwd": false,
	} {
		call := evasion{Command: command}.call()
		if d := set.Evaluate(call, nothingSpent); d.Verdict != verdict.Allow || d.Confine != nil {
			t.Errorf("%q for one that cannot confine: %s by %s, confined to %v", command, d.Verdict, d.Rule, d.Confine)
		}
		call.CanConfine = true
		if d := set.Evaluate(call, nothingSpent); d.Verdict != verdict.Allow || (d.Confine != nil) != want {
			t.Errorf("%q: %s by %s, confined to %v", command, d.Verdict, d.Rule, d.Confine)
		}
	}
}
