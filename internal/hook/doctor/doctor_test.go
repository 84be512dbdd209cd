package doctor_test

import (
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"net/http"

	"writ/client"
	"writ/internal/database/dbtest"
	"writ/internal/hook/doctor"
	"writ/internal/hook/guardfile"
	"writ/internal/hook/hosttest"
	"writ/internal/hook/install"
	"writ/internal/hook/setup"
	"writ/internal/hook/spool"
	"writ/internal/testserver"
)

// policy lets the agent read.
const policy = `
version: v1
name: coding
default: deny
rules:
  - {id: files, effect: allow, tools: ["gemini-cli.read_file"]}
`

// confining is a policy that confines commands, and has them read some paths.
func confining(read string) string {
	return `
version: v1
name: confining
default: allow
rules:
  - {id: shell, effect: allow, tools: ["*.run_shell_command"], confine: {write: [workspace], read: ` + read + `}}
`
}

// ward is what the machines of a test share.
type ward struct {
	server   *testserver.Server
	owner    *testserver.Person
	programs string
	host     hosttest.Host
}

func newWard(t *testing.T) *ward {
	t.Helper()
	w := &ward{server: testserver.Start(t, dbtest.SQLite(t)), programs: t.TempDir(), host: hosttest.Newest(t)}
	w.owner = w.server.Person("owner")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", w.programs+"/", "writ/cmd/writ",
		"writ/cmd/writ-client",
		"writ/cmd/writ-plan")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build writ: %v: %s", err, output)
	}
	return w
}

// patient is a machine on which the Gemini CLI is guarded, before a fault is planted.
type patient struct {
	*doctor.Machine
	*ward
	t     *testing.T
	org   string
	home  string
	keyID string
	guard *guardfile.File
	path  map[string]string // programs on PATH
	env   map[string]string
}

func (w *ward) admit(t *testing.T) *patient {
	t.Helper()
	p := &patient{ward: w, t: t, home: t.TempDir(), env: map[string]string{"GEMINI_CLI_TRUST_WORKSPACE": "true"}}
	p.org = w.server.Organization(w.owner, "Office "+filepath.Base(p.home))
	w.server.ActivePolicy(w.owner, p.org, policy)
	if err := os.CopyFS(filepath.Join(p.home, "bin"), os.DirFS(w.programs)); err != nil {
		t.Fatal(err)
	}
	p.path = map[string]string{"gemini": w.host.Program}
	places := install.Places{Gemini: filepath.Join(p.home, ".gemini"), Writ: filepath.Join(p.home, ".config", "writ")}
	p.Machine = &doctor.Machine{
		Places: places, Project: filepath.Join(p.home, "project"),
		System: filepath.Join(p.home, "etc", "settings.json"),
		Getenv: func(name string) string { return p.env[name] },
		Look: func(program string) (string, error) {
			if path, known := p.path[program]; known && path == "" {
				return "", exec.ErrNotFound
			} else if known {
				return path, nil
			}
			return exec.LookPath(program)
		},
	}
	if err := os.MkdirAll(p.Project, 0o755); err != nil {
		t.Fatal(err)
	}
	p.key("enforce", "audit", "ingest", "delegation.request")
	return p
}

// key gives the machine a key with these scopes.
func (p *patient) key(scopes ...string) {
	p.t.Helper()
	issued, err := p.owner.CreateKey(p.t.Context(), client.NewKey{
		Name: "machine", OrganizationID: p.org, Scopes: scopes,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.keyID = issued.ID
	p.install(func(f *guardfile.File) { f.Key = issued.APIKey })
}

// install guards the machine, as init does.
func (p *patient) install(change func(*guardfile.File)) {
	p.t.Helper()
	f := guardfile.File{
		Server: p.server.Public.BaseURL, Organization: p.org, Agent: "gemini-cli", Host: "gemini",
		Mode:     guardfile.Enforce,
		StateDir: p.State(), Answer: 60, Writ: p.home + "/bin/writ", PlanServer: p.home + "/bin/writ-plan",
	}
	if p.guard != nil {
		f = *p.guard
	}
	change(&f)
	guard, err := guardfile.At(p.Guard(), f)
	if err == nil {
		_, err = install.Install(p.Places, guard, p.keyID)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.guard = guard
}

func (p *patient) write(path, text string, mode os.FileMode) {
	p.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.home, path)
	}
	_ = os.Remove(path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		p.t.Fatal(err)
	}
}

// edit replaces a text in a file, which must have it.
func (p *patient) edit(path, old, now string) {
	p.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), old) {
		p.t.Fatalf("%s has no %q: %v", path, old, err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), old, now, 1)), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *patient) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// fault is what is wrong with a machine, and what the doctor must say.
type fault struct {
	plant func(p *patient)
	check string
	state doctor.State
	text  string // a part of it
}

// settingsFault is a fault in a file of settings.
func settingsFault(file, text, check string, state doctor.State, says string) fault {
	return fault{func(p *patient) { p.write(file, text, 0o644) }, check, state, says}
}

var faults = map[string]fault{
	"no guard file": {
		func(p *patient) { p.must(os.Remove(p.Guard())) }, "guard file", doctor.Failed, "cannot be found",
	},
	"a guard file that others read": {
		func(p *patient) { p.must(os.Chmod(p.Guard(), 0o644)) }, "guard file", doctor.Failed, "chmod 600",
	},
	"a guard file of another version": {
		func(p *patient) { p.edit(p.Guard(), `"version": 1`, `"version": 9`) }, "guard file", doctor.Failed, "version",
	},
	"a guard file that protects a home": {
		func(p *patient) { p.edit(p.Guard(), `"protected": []`, `"protected": ["~/x"]`) }, "guard file", doctor.Failed,
		"write absolute paths there",
	},
	"a guard file that only monitors": {
		func(p *patient) { p.edit(p.Guard(), `"enforce"`, `"monitor"`) }, "guard file", doctor.Failed,
		"only monitored",
	},
	"no writ-client": {
		func(p *patient) { p.must(os.Remove(p.home + "/bin/writ-client")) }, "programs", doctor.Failed,
		"writ-client is missing",
	},
	"no shell for hooks": {
		func(p *patient) { p.must(os.Remove(p.Shell() + "/bash")) }, "programs", doctor.Failed, "shell/bash",
	},
	"another shell for hooks": {
		func(p *patient) { p.edit(p.Shell()+"/bash", "ELF", "elf"); p.must(os.Chmod(p.Shell()+"/bash", 0o755)) },
		"programs", doctor.Warning, "another version",
	},
	"a shell for hooks with another time": {
		func(p *patient) { p.must(os.Chtimes(p.Shell()+"/bash", time.Time{}, time.Unix(1, 0))) },
		"programs", doctor.Warning, "does not answer by itself",
	},
	"a program that others may replace": {
		func(p *patient) { p.must(os.Chmod(p.home+"/bin/writ-plan", 0o777)) }, "programs", doctor.Failed,
		"others may replace",
	},
	"a hook that somebody changed": {
		func(p *patient) { p.edit(p.Settings(), "exit 2", "exit 0") }, "settings", doctor.Failed, "SessionStart",
	},
	"a hook under another event": {
		func(p *patient) { p.edit(p.Settings(), `"BeforeTool"`, `"BeforeModel"`) }, "settings", doctor.Failed,
		"BeforeTool",
	},
	"settings that the host cannot read": {
		func(p *patient) { p.edit(p.Settings(), "{", `{"a":1,,`) }, "settings", doctor.Failed, "cannot read",
	},
	"settings with a byte order mark": {
		func(p *patient) { p.edit(p.Settings(), "{", "\ufeff{") }, "settings", doctor.Failed,
		"settings.json: a byte order mark stands at its head",
	},
	"a project that switches hooks off": settingsFault("project/.gemini/settings.json",
		`{"hooksConfig":{"enabled":false}}`, "switches", doctor.Failed, "hooksConfig.enabled in"),
	"a project that would switch hooks off": {
		func(p *patient) {
			p.env["GEMINI_CLI_TRUST_WORKSPACE"] = ""
			p.write("project/.gemini/settings.json", `{"hooksConfig":{"enabled":false}}`, 0o644)
		},
		"switches", doctor.Failed, "once this folder is trusted",
	},
	"a project that nobody should trust": {
		func(p *patient) {
			p.env["GEMINI_CLI_TRUST_WORKSPACE"] = ""
			p.write("project/.gemini/settings.json", `{"hooksConfig":{"enabled":false}}`, 0o644)
		},
		"folder", doctor.Warning, "do not trust it before",
	},
	"settings that switch our hooks off": {
		func(p *patient) {
			p.edit(p.Settings(), "{", `{"hooksConfig":{"disabled":["`+setup.HookName(p.guard)+`"]},`)
		},
		"switches", doctor.Failed, "hooksConfig.disabled",
	},
	"a variable that has calls only monitored": {
		func(p *patient) { p.env["WRIT_ENFORCE"] = "monitor" }, "variables", doctor.Failed,
		"WRIT_ENFORCE=monitor is set",
	},
	"a project that has calls only monitored": settingsFault("project/.env", "# a\nexport WRIT_ENFORCE=monitor\n",
		"variables", doctor.Failed, "sets WRIT_ENFORCE"),
	"a project with a variable of the loader": settingsFault("project/.env", "A=1\nexport LD_SHOW_AUXV = 1\n",
		"variables", doctor.Failed, "sets LD_SHOW_AUXV"),
	"a project with a variable behind a mark": settingsFault("project/.env", "LD_PRELOAD\ufeff=x\n",
		"variables", doctor.Failed, "sets LD_PRELOAD"),
	"a project with a variable behind a tab": settingsFault("project/.env", "export\tLD_AUDIT=x\n",
		"variables", doctor.Failed, "sets LD_AUDIT"),
	"a project with a variable on two lines": settingsFault("project/.env", "LD_AUDIT\n=x\n",
		"variables", doctor.Failed, "sets LD_AUDIT"),
	"a project with a variable behind a comment": settingsFault("project/.env", "# a\u2028PS4=x\n",
		"variables", doctor.Failed, "sets PS4"),
	"a project with a variable of the shell": settingsFault("project/.gemini/.env", "BASH_ENV: x\n",
		"variables", doctor.Failed, ".gemini/.env sets BASH_ENV"),
	"a folder above with a long variable": settingsFault(".env", "A="+strings.Repeat("x", 101<<10)+"\n",
		"variables", doctor.Failed, "cannot start hooks"),
	"a project with a long variable of many lines": settingsFault("project/.env",
		"A='"+strings.Repeat("x\n", 60<<10)+"'\n", "variables", doctor.Failed, "cannot start hooks"),
	"a project with too many variables": settingsFault("project/.env", strings.Repeat("A=1\n", 300<<10),
		"variables", doctor.Failed, "more than 1024 KiB"),
	"a system that switches hooks off": settingsFault("etc/settings.json", `{"hooksConfig":{"enabled":false}}`,
		"switches", doctor.Failed, "etc/settings.json"),
	"an extension that somebody changed": {
		func(p *patient) { p.edit(p.Extension()+"/gemini-extension.json", "1.0.0", "1.0.1") },
		"extension", doctor.Failed, "gemini-extension.json",
	},
	"a file more in the extension": settingsFault(".gemini/extensions/writ/commands/evil.toml", "prompt = '!{evil}'",
		"extension", doctor.Failed, "evil.toml"),
	"an extension that is off": settingsFault(".gemini/extensions/extension-enablement.json",
		`{"writ":{"overrides":["!/*"]}}`, "extension", doctor.Failed, "switched off"),
	"a plan server that is off": settingsFault("etc/settings.json", `{"mcp":{"excluded":["Writ"]}}`,
		"plan server", doctor.Failed, "mcp.excluded"),
	"a list of MCP servers without ours": settingsFault("etc/settings.json", `{"mcp":{"allowed":["docs"]}}`,
		"plan server", doctor.Failed, "mcp.allowed"),
	"another plan server": settingsFault("project/.gemini/settings.json", `{"mcpServers":{"writ":{"command":"evil"}}}`,
		"plan server", doctor.Failed, "another server"),
	"a folder that is not trusted": {func(p *patient) {
		p.env["GEMINI_CLI_TRUST_WORKSPACE"] = ""
		p.write(".gemini/trustedFolders.json", fmt.Sprintf(`{%q:"TRUST_FOLDER",%q:"DO_NOT_TRUST"}`, p.home, p.Project),
			0o600)
	}, "folder", doctor.Failed, "not trusted"},
	"a folder that nobody has looked at": {
		func(p *patient) { p.env["GEMINI_CLI_TRUST_WORKSPACE"] = "" }, "folder", doctor.Warning, "not trusted yet",
	},
	"a hook of somebody else": {
		func(p *patient) {
			p.edit(p.Settings(), `"BeforeTool": [`,
				`"BeforeTool": [{"hooks":[{"type":"command","command":"rewrite"}]},`)
		}, "other hooks", doctor.Warning, "rewrite",
	},
	"another plugin": {func(p *patient) {
		p.write(".gemini/extensions/armorgemini/gemini-extension.json", `{"name":"armorgemini","version":"1"}`, 0o644)
	}, "other plugins", doctor.Warning, "armorgemini"},
	"a command that no hook sees": settingsFault("project/.gemini/settings.json",
		`{"tools":{"discoveryCommand":"make tools"}}`,
		"unhooked", doctor.Warning, "make tools"),
	"settings that others may write": {
		func(p *patient) { p.must(os.Chmod(p.Settings(), 0o666)) }, "file modes", doctor.Failed, "settings.json",
	},
	"a full spool": {func(p *patient) {
		s, err := spool.Open(p.State(), p.guard.Server+p.guard.Key, time.Now)
		p.must(err)
		p.must(s.Add(spool.Report, []byte(`{"a":1}`)))
	}, "spool", doctor.Warning, "1 reports and traces wait"},
	"no host": {func(p *patient) { p.path["gemini"] = "" }, "host", doctor.Failed, "not on PATH"},
	"an old host": {func(p *patient) {
		p.write("old/package.json", `{"name":"@google/gemini-cli","version":"0.20.1"}`, 0o644)
		p.write("old/bundle/gemini.js", "", 0o755)
		p.path["gemini"] = p.home + "/old/bundle/gemini.js"
	}, "host", doctor.Failed, "0.20.1"},
	"an old Node": {func(p *patient) {
		p.write("old/node", "#!/bin/sh\necho v18.20.4\n", 0o755)
		p.path["node"] = p.home + "/old/node"
	}, "node", doctor.Failed, "v18.20.4"},
	"no server": {func(p *patient) { p.install(func(f *guardfile.File) { f.Server = "http://127.0.0.1:1" }) },
		"server", doctor.Failed, "does not answer"},
	"a certificate that the system does not trust": {func(p *patient) {
		p.install(func(f *guardfile.File) { f.Server = p.selfSigned() })
		p.must(findsUntrusted(doctor.Guarded(p.t.Context(), p.Machine, "")))
	}, "server", doctor.Failed, "hooks ignore SSL_CERT_FILE"},
	"a clock that is wrong": {func(p *patient) {
		p.install(func(f *guardfile.File) { f.Server = p.late(10 * time.Minute) })
	}, "clock", doctor.Failed, "differ by"},
	"a key that was revoked": {func(p *patient) { p.must(p.owner.RevokeKey(p.t.Context(), p.keyID)) },
		"key", doctor.Failed, "does not accept"},
	"a key that may not report": {func(p *patient) { p.key("enforce", "ingest", "delegation.request") },
		"key", doctor.Failed, "no scope audit"},
	"an agent that was killed": {func(p *patient) {
		_, err := p.owner.RegisterAgent(p.t.Context(), p.org, client.NewAgent{AgentID: "gemini-cli"})
		p.must(err)
		_, err = p.owner.KillAgent(p.t.Context(), p.org, "gemini-cli", "a test")
		p.must(err)
	}, "agent", doctor.Failed, "killed"},
	"a policy that allows nothing": {func(p *patient) {
		p.server.ActivePolicy(p.owner, p.org, "version: v1\nname: closed\ndefault: deny\nrules:\n"+
			"  - {id: all, effect: deny, tools: [\"*\"]}\n")
	}, "policy", doctor.Failed, "allow nothing"},
	"a policy whose confinement does not hold here": {func(p *patient) {
		p.install(func(f *guardfile.File) { f.Capabilities = []string{"confine"} })
		p.must(os.Symlink("/", p.Project+"/everything"))
		p.server.ActivePolicy(p.owner, p.org, confining("[workspace/everything]"))
	}, "confinement", doctor.Failed, "name the directories that are needed"},
	"a hook that says nothing": {func(p *patient) {
		p.edit(p.guard.Writ, p.text(p.guard.Writ), "#!/bin/sh\ncase \"$*\" in *session-start) exit 1;; esac\n")
		p.must(os.Chmod(p.guard.Writ, 0o755))
	}, "hooks", doctor.Failed, "session-start"},
	"a plan server that does not answer": {func(p *patient) {
		p.edit(p.guard.PlanServer, p.text(p.guard.PlanServer), "#!/bin/sh\nexit 0\n")
		p.must(os.Chmod(p.guard.PlanServer, 0o755))
	}, "plans", doctor.Failed, "does not offer"},
}

func (p *patient) text(path string) string {
	p.t.Helper()
	text, err := os.ReadFile(path)
	p.must(err)
	return string(text)
}

// late is the address of the server with another clock.
func (p *patient) late(by time.Duration) string {
	target, err := url.Parse(p.server.Public.BaseURL)
	p.must(err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(r *http.Response) error {
		r.Header.Set("Date", time.Now().Add(-by).UTC().Format(http.TimeFormat))
		return nil
	}
	server := httptest.NewServer(proxy)
	p.t.Cleanup(server.Close)
	return server.URL
}

// selfSigned is the address of a server whose certificate nobody trusts.
func (p *patient) selfSigned() string {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	p.t.Cleanup(server.Close)
	return server.URL
}

func findsUntrusted(findings []doctor.Finding) error {
	for _, f := range findings {
		if f.Check == doctor.Certificate && f.State == doctor.Failed && strings.Contains(f.Text, "hooks do not trust") {
			return nil
		}
	}
	return fmt.Errorf("the certificate is not found: %+v", findings)
}

// TestFaults: the doctor finds each of these faults, by the check that it belongs to.
func TestFaults(t *testing.T) {
	t.Parallel()
	w := newWard(t)
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := w.admit(t)
			f.plant(p)
			findings := doctor.Examine(t.Context(), p.Machine)
			for _, found := range findings {
				if found.Check != f.check {
					continue
				}
				if found.State != f.state || !strings.Contains(found.Text+": "+found.Fix, f.text) || found.Fix == "" {
					t.Errorf("the doctor says %+v, want %s with %q and a fix", found, f.state, f.text)
				}
				return
			}
			t.Errorf("there is no check %q: %+v", f.check, findings)
		})
	}
}

// TestHealthy: nothing is wrong with a machine that init has set up.
func TestHealthy(t *testing.T) {
	t.Parallel()
	p := newWard(t).admit(t)
	findings := doctor.Examine(t.Context(), p.Machine)
	if len(findings) < 20 {
		t.Errorf("only %d checks", len(findings))
	}
	for _, f := range append(findings, doctor.Guarded(t.Context(), p.Machine, "")...) {
		if f.State != doctor.OK {
			t.Errorf("%+v", f)
		}
	}
}

// TestConfinement: a command that does nothing runs within the limits of the policy, also where this machine lacks some
// of the paths that it names.
func TestConfinement(t *testing.T) {
	t.Parallel()
	p := newWard(t).admit(t)
	p.install(func(f *guardfile.File) { f.Capabilities = []string{"confine"} })
	p.server.ActivePolicy(p.owner, p.org, confining("[~/writ-test-absent, /usr/share, /writ-test-absent/x]"))
	for _, f := range doctor.Examine(t.Context(), p.Machine) {
		if f.Check == "confinement" {
			if f.State != doctor.OK || f.Text != "a confined command runs" {
				t.Errorf("%+v", f)
			}
			return
		}
	}
	t.Error("nothing was confined")
}
