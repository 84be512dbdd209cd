package install_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"writ/internal/hook/guardfile"
	"writ/internal/hook/install"
	"writ/internal/hook/setup"
)

// absent stands for settings that are not there.
const absent = "\x00"

// settings are texts that people have.
var settings = map[string]string{
	"missing":          absent,
	"empty":            "",
	"blank":            "\n \n",
	"an empty object":  "{}",
	"our own skeleton": "{}\n",
	"spread":           " {\n}\n",
	"one member":       "{\n  \"theme\": \"dark\"\n}\n",
	"no final newline": "{\n  \"theme\": \"dark\"\n}",
	"comments":         "// mine\n{ /* a */ \"theme\": \"dark\", // why\n \"ui\": {\"hooks\": [1]} }\n// end",
	"CRLF":             "{\r\n  \"theme\": \"dark\",\r\n  \"hooks\": {\r\n    \"SessionEnd\": [\r\n ]\r\n }\r\n}\r\n",
	"tabs":             "{\n\t\"hooks\": {\n\t\t// nothing yet\n\t},\n\t\"theme\": \"dark\"\n}",
	"hooks of others":  `{"hooks":{"BeforeTool":[ {"hooks":[{"type":"command","command":"true"}]} ],"AfterTool":[]},"theme":"dark"}`,
	"empty hooks":      `{"hooks":{}}`,
	"an empty list":    `{"hooks":{"BeforeTool":[]}}`,
	"unknown events":   `{"hooks":{"Other":{"a":1},"AfterAgent":[{"hooks":[]}]},"theme":"dark"}`,
	"text like a hook": `{"theme":"dark","note":"{\"name\":\"writ\",\"command\":\" hook --config \"}"}`,
	"not only ASCII":   "{\"theme\": \"dark\", \"prompt\": \"Grüße 👋 \\u00e9 \\\" // /* \"}",
	"very long":        `{"theme":"dark","list":[` + strings.Repeat(`"x",`, 5000) + `"x"]}`,
}

// machine is an empty machine with these settings.
func machine(t *testing.T, text string) install.Places {
	t.Helper()
	home := t.TempDir()
	p := install.Places{Gemini: filepath.Join(home, ".gemini"), Writ: filepath.Join(home, ".config", "writ")}
	if text != absent {
		if err := os.MkdirAll(p.Gemini, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p.Settings(), []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func guard(t *testing.T, p install.Places, change func(*guardfile.File)) *guardfile.File {
	t.Helper()
	f := guardfile.File{
		Server:       "https://writ.test",
		Key:          "ak_test_x",
		Organization: "o",
		Agent:        "gemini-cli",
		Host:         "gemini",
		Mode:         guardfile.Enforce,
		ApprovalWait: 60,
		StateDir:     p.State(),
		Writ:         program(t, "writ"),
		PlanServer:   "/opt/writ/writ-plan",
	}
	if change != nil {
		change(&f)
	}
	file, err := guardfile.At(p.Guard(), f)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// program is one that stands for writ.
func program(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n# "+name+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustInstall(t *testing.T, p install.Places, g *guardfile.File) install.Changes {
	t.Helper()
	changes, err := install.Install(p, g, "key-1")
	if err != nil {
		t.Fatalf("install: %v", err)
	}
	return changes
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return absent
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// wantGuarded checks that the settings and the extension hold our hooks.
func wantGuarded(t *testing.T, p install.Places, g *guardfile.File) {
	t.Helper()
	if missing := setup.Missing(read(t, p.Settings()), g); len(missing) > 0 {
		t.Errorf("the settings have no hooks for %q", missing)
	}
	for name, want := range setup.Extension(g) {
		if got := read(t, filepath.Join(p.Extension(), name)); got != want {
			t.Errorf("%s: %.200q", name, got)
		}
	}
	if _, err := guardfile.Read(p.Guard()); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(setup.Shell(g)); err != nil || info.Mode().Perm() != 0o755 ||
		read(t, setup.Shell(g)) != read(t, g.Writ) {
		t.Errorf("the shell of hooks is no copy of writ: %v", err)
	} else if writ, err := os.Stat(g.Writ); err != nil || !writ.ModTime().Equal(info.ModTime()) {
		t.Errorf("the shell of hooks does not know that it is a copy of writ: %v", err)
	}
	if info, err := os.Stat(p.Shell()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of that shell: %v", err)
	}
}

// wantGone checks that nothing of ours is left.
func wantGone(t *testing.T, p install.Places) {
	t.Helper()
	for _, path := range []string{
		p.Extension(), p.State(), p.Guard(), p.Shell(), p.Backup(), filepath.Join(p.Writ, "gemini.json"),
	} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
}

// TestUninstallGivesSettingsBack: after init, init again, and an upgrade, uninstall leaves the very bytes
// that were there.
func TestUninstallGivesSettingsBack(t *testing.T) {
	t.Parallel()
	for name, before := range settings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := machine(t, before)
			g := guard(t, p, nil)
			mustInstall(t, p, g)
			wantGuarded(t, p, g)
			if before != absent && read(t, p.Backup()) != before {
				t.Errorf("the backup is %q", read(t, p.Backup()))
			}
			once := read(t, p.Settings())
			if changes := mustInstall(t, p, g); len(changes) > 0 || read(t, p.Settings()) != once {
				t.Errorf("the second time it changed %q", changes)
			}
			newer := guard(t, p, func(f *guardfile.File) { f.Writ, f.ApprovalWait = program(t, "it's new"), 120 })
			mustInstall(t, p, newer)
			wantGuarded(t, p, newer)
			removed, err := install.Uninstall(p)
			if err != nil || removed.KeyID != "key-1" {
				t.Errorf("uninstall: %+v, %v", removed, err)
			}
			if got := read(t, p.Settings()); got != before {
				t.Errorf("the settings are %q, want %q", got, before)
			}
			wantGone(t, p)
		})
	}
}

// TestUninstallKeepsEdits: what a person changed meanwhile stays, and nothing else differs.
func TestUninstallKeepsEdits(t *testing.T) {
	t.Parallel()
	for name, before := range settings {
		if !strings.Contains(before, `"dark"`) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := machine(t, before)
			mustInstall(t, p, guard(t, p, nil))
			edited := strings.Replace(read(t, p.Settings()), `"dark"`, `"light", "added": {"a": [1]}`, 1)
			if err := os.WriteFile(p.Settings(), []byte(edited), 0o640); err != nil {
				t.Fatal(err)
			}
			if _, err := install.Uninstall(p); err != nil {
				t.Fatal(err)
			}
			want := strings.Replace(before, `"dark"`, `"light", "added": {"a": [1]}`, 1)
			if got := read(t, p.Settings()); got != want {
				t.Errorf("the settings are %q, want %q", got, want)
			}
			if info, err := os.Stat(p.Settings()); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("the mode is %v, %v", info.Mode(), err)
			}
		})
	}
}

// TestUninstallAfterTheHostWroteSettings: the host writes its settings anew when a person changes one in it, and the
// record may be lost. Our hooks go, and every value of others stays.
func TestUninstallAfterTheHostWroteSettings(t *testing.T) {
	t.Parallel()
	for name, before := range settings {
		var values map[string]any
		if setup.Decode(before, &values) != nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := machine(t, before)
			mustInstall(t, p, guard(t, p, nil))
			var all map[string]any
			if err := setup.Decode(read(t, p.Settings()), &all); err != nil {
				t.Fatal(err)
			}
			all["added"] = true
			rewritten, _ := json.Marshal(all)
			if err := errors.Join(os.WriteFile(p.Settings(), rewritten, 0o600),
				os.Remove(filepath.Join(p.Writ, "gemini.json"))); err != nil {
				t.Fatal(err)
			}
			if _, err := install.Uninstall(p); err != nil {
				t.Fatal(err)
			}
			var left map[string]any
			if err := json.Unmarshal([]byte(read(t, p.Settings())), &left); err != nil {
				t.Fatalf("no JSON any more: %v: %s", err, read(t, p.Settings()))
			}
			want := dropEmptyHooks(values)
			want["added"] = true
			got, _ := json.Marshal(dropEmptyHooks(left))
			wanted, _ := json.Marshal(want)
			if string(got) != string(wanted) {
				t.Errorf("left %s, want %s", got, wanted)
			}
		})
	}
}

// dropEmptyHooks takes lists without hooks out: they say nothing.
func dropEmptyHooks(values map[string]any) map[string]any {
	hooks, _ := values["hooks"].(map[string]any)
	for event, list := range hooks {
		if groups, ok := list.([]any); ok && len(groups) == 0 {
			delete(hooks, event)
		}
	}
	if hooks != nil && len(hooks) == 0 {
		delete(values, "hooks")
	}
	return values
}

// TestUpgradeFromAnOlderVersion: hooks of an earlier version, without a record, are replaced.
func TestUpgradeFromAnOlderVersion(t *testing.T) {
	t.Parallel()
	old := `{"hooks":{"BeforeTool":[{"matcher":"*","hooks":[{"type":"command","name":"writ",` +
		`"command":"/old/writ hook --config /old/guard.json before-tool || exit 2","timeout":1000}]},` +
		`{"hooks":[{"type":"command","command":"true"}]}]},"theme":"dark"}`
	p := machine(t, old)
	g := guard(t, p, nil)
	mustInstall(t, p, g)
	wantGuarded(t, p, g)
	if text := read(t, p.Settings()); strings.Contains(text, "/old/") || !strings.Contains(text, `"command":"true"`) {
		t.Errorf("the settings are %s", text)
	}
	if err := os.WriteFile(filepath.Join(p.Extension(), "commands", "writ", "old.toml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mustInstall(t, p, g)
	if _, err := os.Lstat(filepath.Join(p.Extension(), "commands", "writ", "old.toml")); err == nil {
		t.Error("a file of an earlier version stays in the extension")
	}
}

// TestInstallRefuses: what the host itself cannot read is left as it is.
func TestInstallRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"a trailing comma":    {"{\n\"a\": 1,\n}\n", "line 3: a comma stands before the end"},
		"a list":              {"[]", "a { is missing"},
		"hooks of two kinds":  {`{"hooks":{},"hooks":{}}`, "twice"},
		"a byte order mark":   {"\ufeff{}", "a byte order mark stands at its head"},
		"ours beside another": {mixed, "by hand"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := machine(t, c.text)
			_, err := install.Install(p, guard(t, p, nil), "")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if read(t, p.Settings()) != c.text {
				t.Errorf("the settings are %q", read(t, p.Settings()))
			}
			wantGone(t, p)
		})
	}
}

const mixed = `{"hooks":{"BeforeTool":[{"hooks":[` +
	`{"type":"command","name":"writ","command":"writ hook --config x before-tool"},{"type":"command","command":"true"}]}]}}`

// TestLinkedSettings: people keep their settings elsewhere and link them.
func TestLinkedSettings(t *testing.T) {
	t.Parallel()
	p := machine(t, absent)
	elsewhere := filepath.Join(t.TempDir(), "settings.json")
	if err := errors.Join(os.MkdirAll(p.Gemini, 0o755), os.WriteFile(elsewhere, []byte("{ }\n"), 0o644),
		os.Symlink(elsewhere, p.Settings())); err != nil {
		t.Fatal(err)
	}
	g := guard(t, p, nil)
	mustInstall(t, p, g)
	wantGuarded(t, p, g)
	if target, err := os.Readlink(p.Settings()); err != nil || target != elsewhere {
		t.Errorf("the link is %q, %v", target, err)
	}
	if _, err := install.Uninstall(p); err != nil || read(t, elsewhere) != "{ }\n" {
		t.Errorf("%v: %q", err, read(t, elsewhere))
	}
}

// TestDynamicPrograms: a program that a loader starts cannot stand for bash.
func TestDynamicPrograms(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	p := machine(t, "{}")
	_, err = install.Install(p, guard(t, p, func(f *guardfile.File) { f.Writ = bash }), "")
	if err == nil || !strings.Contains(err.Error(), "linked dynamically") {
		t.Errorf("install: %v", err)
	}
	if text := read(t, p.Settings()); text != "{}" {
		t.Errorf("the settings have hooks without a shell: %s", text)
	}
}
