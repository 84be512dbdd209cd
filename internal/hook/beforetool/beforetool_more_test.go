package beforetool_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"writ/internal/hook/gemini"
	"writ/internal/hook/guardfile"
)

const held = `200 {"allowed":false,"action":"hold","decision":"hold","reason":"large","approvalId":"a/1"}`

func waiting(seconds int) func(*guardfile.File) {
	return func(f *guardfile.File) { f.ApprovalWait = seconds }
}

func TestHeldWithoutWaiting(t *testing.T) {
	t.Parallel()
	m := newMachine(t, nil, held)
	a := m.answer("pay", `{}`, nil)
	for _, part := range []string{
		"holds", "large", "writ approvals approve a/1", "http://writ.test/ui/approvals/a%2F1",
	} {
		if a.Decision != "deny" || !strings.Contains(a.Reason, part) {
			t.Errorf("%+v lacks %q", a, part)
		}
	}
	if len(m.server.asked) != 1 || strings.Contains(a.SystemMessage, "\n") ||
		!strings.HasPrefix(a.SystemMessage, "Writ holds") {
		t.Errorf("%q, asked %q", a.SystemMessage, m.server.asked)
	}
}

func TestHeldAndAnswered(t *testing.T) {
	t.Parallel()
	pending := `200 {"status":"pending"}`
	for name, c := range map[string]struct {
		answers []string
		want    string
	}{
		"yes": {
			[]string{held, pending, pending, `200 {"status":"approved"}`, "200 " + allowed}, "allow",
		},
		"no": {
			[]string{held, `200 {"status":"rejected"}`, `200 {"allowed":false,"decision":"deny"}`}, "deny",
		},
		"late":                             {[]string{held, pending}, "deny"},
		"polls forbidden, yes":             {[]string{held, "403 {}", "200 " + allowed}, "allow"},
		"gone":                             {[]string{held, "down"}, "deny"},
		"approved, but the server is gone": {[]string{held, `200 {"status":"approved"}`, "down"}, "deny"},
		"approved, and says nothing more":  {[]string{held, `200 {"status":"approved"}`, held}, "deny"},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := newMachine(t, waiting(60), c.answers...)
			began := time.Now()
			a := m.answer("pay", `{}`, nil)
			if a.Decision != c.want || time.Since(began) > 70*time.Second {
				t.Errorf("%s: %+v after %v", name, a, time.Since(began))
			}
			if want := "GET /delegation/poll?delegationId=a%2F1&waitSeconds=4 "; m.server.asked[1] != want {
				t.Errorf("%s: asked %q", name, m.server.asked[1])
			}
			if len(m.server.asked) > 60 {
				t.Errorf("%s: asked %d times", name, len(m.server.asked))
			}
		})
	}
}

// TestMonitor: the guard file may say that calls are only watched; the environment only if the organization permits it.
func TestMonitor(t *testing.T) {
	t.Parallel()
	inFile := func(f *guardfile.File) { f.Mode = guardfile.Monitor }
	no := `200 {"allowed":false,"decision":"deny","reason":"no","session":{"turn":3,"monitorAllowed":false}}`
	permitted := strings.Replace(no, "monitorAllowed\":false", "monitorAllowed\":true", 1)
	for name, c := range map[string]struct {
		change      func(*guardfile.File)
		env, answer string
		want        string
	}{
		"file":                          {inFile, "", no, "allow"},
		"file, server down":             {inFile, "", "down", "allow"},
		"nothing says so":               {nil, "", permitted, "deny"},
		"environment, permitted":        {nil, "monitor", permitted, "allow"},
		"environment, not permitted":    {nil, "monitor", no, "deny"},
		"environment, server down":      {nil, "monitor", "down", "deny"},
		"environment, server says less": {nil, "monitor", `200 {"allowed":false}`, "deny"},
		"another word":                  {nil, "off", permitted, "deny"},
	} {
		m := newMachine(t, c.change, c.answer)
		m.env["WRIT_ENFORCE"] = c.env
		a := m.answer("read_file", `{}`, nil)
		if a.Decision != c.want || c.want == "allow" && !strings.Contains(a.SystemMessage, "only monitors") {
			t.Errorf("%s: %+v", name, a)
		}
		// What runs is known to after-tool, whatever was decided.
		if call, _, err := m.state(t).Take("read_file", json.RawMessage(`{}`)); (call != nil) != (c.want == "allow") {
			t.Errorf("%s: stored %+v, %v", name, call, err)
		}
	}
	m := newMachine(t, inFile, "200 "+allowed)
	if a := m.answer("write_file", `{"file_path":"/home/dev/.gemini/settings.json"}`, nil); a.Decision != "deny" {
		t.Errorf("the guard protects itself also while it monitors: %+v", a)
	}
}

func TestOwnToolsGetATicket(t *testing.T) {
	t.Parallel()
	ours := func(m *machine) *gemini.MCP {
		return &gemini.MCP{
			ServerName: "anything", ToolName: "register_intent_plan", Command: m.guard.PlanServer,
			Args: []string{"--config", m.guard.Path()},
		}
	}
	m := newMachine(t, nil, `200 {"ticket":"t1"}`)
	a := m.answer("mcp_x_register_intent_plan", `{"plan":{"n":1.50},"session_ticket":"forged"}`, ours(m))
	if a.Decision != "allow" || string(a.Specific.ToolInput) != `{"plan":{"n":1.50},"session_ticket":"t1"}` {
		t.Errorf("%+v, %+v", a, a.Specific)
	}
	if want := `POST /iap/session/ticket {"session_id":"7f3b","turn":3}`; m.server.asked[0] != want {
		t.Errorf("asked %q", m.server.asked)
	}
	m = newMachine(t, nil, `200 {"ticket":"t1"}`)
	if a := m.answer("x", `{"steps":[{"params":{"file_path":".gemini/settings.json"}}]}`,
		ours(m)); a.Decision != "allow" {
		t.Errorf("a plan that names settings: %+v", a)
	}
	for _, answer := range []string{"down", `200 {}`, `200 {"ticket":""}`, `200 {"ticket":1}`, `403 {"ticket":"t1"}`} {
		m := newMachine(t, nil, answer)
		if a := m.answer("mcp_x_register_intent_plan", `{}`, ours(m)); a.Decision != "deny" {
			t.Errorf("%s: %+v", answer, a)
		}
	}
	// What only looks like ours is judged like any other tool.
	for name, change := range map[string]func(*gemini.MCP){
		"other program":      func(c *gemini.MCP) { c.Command = "/tmp/writ-plan" },
		"program by name":    func(c *gemini.MCP) { c.Command = "writ-plan" },
		"other guard file":   func(c *gemini.MCP) { c.Args[1] = "/tmp/guard.json" },
		"more arguments":     func(c *gemini.MCP) { c.Args = append(c.Args, "x") },
		"no arguments":       func(c *gemini.MCP) { c.Args = nil },
		"other tool":         func(c *gemini.MCP) { c.ToolName = "x__register_intent_plan" },
		"also by an address": func(c *gemini.MCP) { c.URL = "https://example.org" },
	} {
		m := newMachine(t, nil, `200 {"allowed":false,"decision":"deny","reason":"no","ticket":"t1"}`)
		mcp := ours(m)
		change(mcp)
		if a := m.answer("mcp_writ_register_intent_plan", `{}`, mcp); a.Decision != "deny" ||
			!strings.HasPrefix(m.server.asked[0], "POST /iap/enforce") {
			t.Errorf("%s: %+v, %q", name, a, m.server.asked)
		}
	}
}

func confined(limits string) string {
	return `200 {"allowed":true,"action":"allow","decision":"allow","decisionId":"d1","session":{"turn":3},"confine":` +
		limits + `}`
}

func TestConfinement(t *testing.T) {
	t.Parallel()
	m := newMachine(t, nil, confined(`{"write":["workspace"],"net":["proxy.golang.org:443"]}`))
	input := `{"command":"echo 'a b' && rm x","dir_path":"sub","n":1e3}`
	a := m.answer("run_shell_command", input, nil)
	var replaced struct {
		Command, Dir string
		N            json.Number
	}
	if a.Decision != "allow" || a.Specific == nil || json.Unmarshal(a.Specific.ToolInput, &replaced) != nil {
		t.Fatalf("%+v", a)
	}
	// What a shell makes of it.
	out, err := exec.Command("bash", "-c", "printf '%s\\n' "+replaced.Command).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := "/opt/writ/writ\nrun\n--report=" + m.state(t).RunReport("d1") +
		"\n--write=/home/dev/project\n--net=proxy.golang.org:443\n--protect=/home/dev/project/.env\n--decision=d1\n--\nbash\n-c\necho 'a b' && rm x\n"
	if string(out) != want || replaced.N != "1e3" {
		t.Errorf("%s, want %s", out, want)
	}
	if !strings.Contains(m.server.asked[0], `"capabilities":["confine"]`) {
		t.Errorf("asked %s", m.server.asked[0])
	}
	call, _, err := m.state(t).Take("run_shell_command", a.Specific.ToolInput)
	if err != nil || call == nil || json.Unmarshal(call.Original, &replaced) != nil ||
		replaced.Command != "echo 'a b' && rm x" {
		t.Errorf("stored %+v, %v", call, err)
	}
}

// TestAbsentPathsOfLimits: what a policy names and this machine does not have permits nothing, and keeps no command
// from running. Where the command may write, it is protected, so that it does not come to be writable.
func TestAbsentPathsOfLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"work/there", "there"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"dangling": "/absent/x", "to-work": "work", "work/leads": dir + "/absent"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	m := newMachine(t, nil, confined(strings.ReplaceAll(`{"write":["DIR/work","DIR/absent"],"read":["DIR/there",`+
		`"DIR/dangling","DIR/there/absent","/etc/passwd/x","DIR/work/there","DIR/work/absent","DIR/work/leads",`+
		`"DIR/to-work/later","~/writ-test-absent"]}`, "DIR", dir)))
	var replaced struct{ Command string }
	a := m.answer("run_shell_command", `{"command":"ls"}`, nil)
	if a.Decision != "allow" || a.Specific == nil || json.Unmarshal(a.Specific.ToolInput, &replaced) != nil {
		t.Fatalf("%+v", a)
	}
	out, err := exec.Command("bash", "-c", "printf '%s\\n' "+replaced.Command).Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(out)) {
		flag, path, _ := strings.Cut(strings.TrimSpace(line), "=")
		if slices.Contains([]string{"--write", "--read", "--protect"}, flag) && !strings.HasSuffix(path, "/.env") {
			got = append(got, flag+" "+strings.TrimPrefix(path, dir))
		}
	}
	want := []string{
		"--write /work", "--read /there", "--read /work/there", "--protect /work/absent", "--protect /work/leads",
		"--protect /work/later",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestConfinementThatCannotBe: a call that must be confined and cannot be does not run.
func TestConfinementThatCannotBe(t *testing.T) {
	t.Parallel()
	less := func(f *guardfile.File) { f.Capabilities = nil }
	mcp := &gemini.MCP{ServerName: "files", ToolName: "run_shell_command"}
	for name, c := range map[string]struct {
		change       func(*guardfile.File)
		tool, limits string
		mcp          *gemini.MCP
	}{
		"another tool":     {nil, "read_file", `{}`, nil},
		"a server's tool":  {nil, "run_shell_command", `{}`, mcp},
		"no capability":    {less, "run_shell_command", `{}`, nil},
		"unknown limit":    {nil, "run_shell_command", `{"cpu":1}`, nil},
		"no limits":        {nil, "run_shell_command", `"none"`, nil},
		"limits are false": {nil, "run_shell_command", `false`, nil},
		"relative path":    {nil, "run_shell_command", `{"write":["../x"]}`, nil},
		"pattern of hosts": {nil, "run_shell_command", `{"net":["*:443"]}`, nil},
	} {
		m := newMachine(t, c.change, confined(c.limits))
		if a := m.answer(c.tool, `{"command":"ls"}`, c.mcp); a.Decision != "deny" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	m := newMachine(t, nil, confined(`null`))
	if a := m.answer("run_shell_command", `{"command":"ls"}`, nil); a.Decision != "allow" || a.Specific != nil {
		t.Errorf("no confinement is demanded: %+v", a)
	}
}

// TestFullDisk: what cannot be stored does not run.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	m := newMachine(t, nil, "200 "+allowed)
	calls := find(t, m, "calls")
	if err := os.Remove(calls); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(calls, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if a := m.answer("read_file", `{}`, nil); a.Decision != "deny" {
		t.Errorf("%+v", a)
	}
}

// TestVariablesOfTheShell: what a project has its host set for the shell runs before any command, confined or not.
func TestVariablesOfTheShell(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"A=b\n":                            "allow",
		"A=BASH_ENV\nMY_PS4=x\nPS45=y\n":   "allow",
		"# BASH_ENV is bad\n":              "allow",
		"BASH_ENV=x.sh\n":                  "deny",
		"A=b\r  export  BASH_ENV = x\r":    "deny",
		"A=b\u2028LD_PRELOAD=x":            "deny",
		"LD_PRELOAD\ufeff=x":               "deny", // the host is JavaScript, where that is a space
		"LD_PRELOAD\n\u00a0= x":            "deny",
		"RIPGREP_CONFIG_PATH=.rg\n":        "deny", // with --pre=./x there, rg runs it for each file
		"KUBECONFIG=k8s\n":                 "deny", // which names the program that gives credentials
		"GH_CONFIG_DIR=.gh\n":              "deny",
		"BAT_CONFIG_PATH=bat\n":            "deny",
		"TF_CLI_ARGS_plan=-state=x\n":      "deny",
		"PYTHONPYCACHEPREFIX=.cache\n":     "deny", // what is there is loaded in place of modules
		"GREP_OPTIONS=--file=x\n":          "deny",
		"PSQLRC=x\n":                       "deny",
		"GIT_INDEX_FILE=/home/a/.x\n":      "deny",
		"SHELLOPTS: xtrace\n":              "deny",
		"BASH_FUNC_ls=x\n":                 "deny",
		"GIT_EXTERNAL_DIFF=./x.sh\n":       "deny",
		"GIT_CONFIG_COUNT=1\n":             "deny",
		"GIT_SSH_COMMAND=./x.sh\n":         "deny",
		"NODE_OPTIONS=--require=./e.js\n":  "deny",
		"PYTHONSTARTUP=x.py\n":             "deny",
		"CDPATH=/etc\n":                    "deny",
		"LD_DEBUG_OUTPUT=x\n":              "deny",
		"XDG_CONFIG_HOME=.settings\n":      "deny", // git runs what git/config there names for fsmonitor
		"TAR_OPTIONS=--to-command=./x\n":   "deny",
		"LESS=+!./x.sh\n":                  "deny",
		"GIT_TRACE2_EVENT=/home/a/.x\n":    "deny",
		"DOCKER_CONFIG=.docker\n":          "deny", // any docker command runs the plugins there
		"AWS_CONFIG_FILE=aws\n":            "deny",
		"_JAVA_OPTIONS=-javaagent:x.jar\n": "deny",
		"PYTHONUSERBASE=.local\n":          "deny",
		"GOFLAGS=-toolexec=./x\n":          "deny",
		"EDITOR=./x.sh\n":                  "deny",
		"NODE_ENV=test\nGIT_AUTHOR_NAME=dev\nPYTHONUNBUFFERED=1\n":                            "allow",
		"ENV=prod\nAWS_REGION=x\nGIT_SHA=1\nHTTP_PROXY=x\nWIRELESS=1\nEMAIL_CC=a\nLESS_CSS=1": "allow",
		strings.Repeat("#\n", 600_000):                                                        "deny",
	} {
		for _, name := range []string{"/.env", "/.gemini/.env", "/sub/.env"} {
			m := newMachine(t, nil, "200 "+allowed)
			dir := t.TempDir()
			m.cwd = dir + "/sub/deeper"
			for _, folder := range []string{m.cwd, dir + "/.gemini"} {
				if err := os.MkdirAll(folder, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(dir+name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if a := m.answer("run_shell_command", `{"command":"ls"}`, nil); a.Decision != want {
				t.Errorf("%.40q in %s: %+v", text, name, a)
			}
			if a := m.answer("read_file", `{"file_path":"a"}`, nil); a.Decision != "allow" {
				t.Errorf("a tool without a shell: %+v", a)
			}
		}
	}
}

// TestWhereLinksLead: also those that lead nowhere yet.
func TestWhereLinksLead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, target := range map[string]string{
		"abs": "/srv/app/.gemini/settings.json", "rel": "../../srv/none", "loop": "loop", "chain": "abs",
		"folder": "/srv/app/sub",
	} {
		if err := os.Symlink(target, dir+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	m := newMachine(t, nil, "200 "+allowed)
	m.cwd = dir
	for _, c := range []struct{ tool, input string }{
		{"write_file", `{"file_path":"abs"}`},
		{"write_file", `{"file_path":"chain"}`},
		{"write_file", `{"file_path":"x y/../.gemini/settings.json"}`},
		{"write_file", `{"file_path":"x\ny/../.gemini/settings.json"}`},
		{"write_file", `{"file_path":"` + strings.Repeat("./", 20_000) + `.gemini/settings.json"}`},
		{"brand_new_tool", `{"file":"x y/../.gemini/settings.json"}`},
		{"run_shell_command", `{"command":"echo > chain"}`},
		{"run_shell_command", `{"command":"echo > folder/../.gemini/settings.json"}`},
		{"run_shell_command", `{"command":"echo > folder/../.env"}`},
	} {
		if a := m.answer(c.tool, c.input, nil); a.Decision != "deny" || len(m.server.asked) > 0 {
			t.Errorf("%s %.80s: %+v", c.tool, c.input, a)
		}
	}
	if a := m.answer("write_file", `{"file_path":"loop"}`, nil); a.Decision != "allow" {
		t.Errorf("a link to itself: %+v", a)
	}
}

// TestLinksAreResolved: policies see where a path really leads.
func TestLinksAreResolved(t *testing.T) {
	t.Parallel()
	m := newMachine(t, nil, "200 "+allowed)
	dir := t.TempDir()
	if err := os.Symlink("/usr", dir+"/out"); err != nil {
		t.Fatal(err)
	}
	a := m.answer("read_file", `{"file_path":"`+dir+`/out/x/../y","path":"src/a.go"}`, nil)
	if want := `"resolvedPaths":{"` + dir + `/out/x/../y":"/usr/y"}`; a.Decision != "allow" ||
		!strings.Contains(m.server.asked[0], want) {
		t.Errorf("asked %s", m.server.asked[0])
	}
}

// TestDotsLeadUpAsInTheHost: the host cleans a path before it follows links, and so the judged file is the written one.
func TestDotsLeadUpAsInTheHost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(dir+"/src/deep/a/b", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("deep/a/b", dir+"/src/in"); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir + "/src/in/../../deploy.sh": "", // cleaned it is what is written
		"src/in/../../deploy.sh":        "",
		dir + "/src/in/../in/x":         dir + "/src/deep/a/b/x",
		"src/in/../in/x":                "src/deep/a/b/x",
	} {
		m := newMachine(t, nil, "200 "+allowed)
		m.cwd = dir
		m.answer("write_file", `{"file_path":"`+path+`","content":""}`, nil)
		var asked struct{ ResolvedPaths map[string]string }
		_, body, _ := strings.Cut(m.server.asked[0], " /iap/enforce ")
		if err := json.Unmarshal([]byte(body), &asked); err != nil || asked.ResolvedPaths[path] != want {
			t.Errorf("%s: %q, want %q (%v)", path, asked.ResolvedPaths, want, err)
		}
	}
}

// TestServerNamedLikeTheHost: a project's MCP server does not pass for the host's own tools.
func TestServerNamedLikeTheHost(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]string{"gemini-cli": "deny", "Claude-Code": "deny", "docs": "allow"} {
		m := newMachine(t, nil, "200 "+allowed)
		mcp := &gemini.MCP{ServerName: server, ToolName: "read_file", URL: "https://example.org/mcp"}
		if a := m.answer("mcp_"+server+"_read_file", `{"q":"x"}`, mcp); a.Decision != want {
			t.Errorf("%s: %+v", server, a)
		}
	}
}

// TestLineForThePerson: one short line with the reason, the rule and the next step.
func TestLineForThePerson(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("because ", 100)
	for _, c := range []struct{ answer, want string }{
		{
			`200 {"allowed":false,"decision":"hold","reason":"large.","rule":"big","approvalId":"a1"}`,
			"Writ holds pay: large (rule big). Answer it: writ approvals approve a1, or http://writ.test/ui/approvals/a1",
		},
		{
			`200 {"allowed":false,"decision":"deny","reason":"no uploads","rule":"net"}`,
			"Writ denied pay: no uploads (rule net). What is allowed: /writ:list",
		},
		{
			`200 {"allowed":false,"decision":"deny","reason":"no plan: register one","rule":"no_plan","decidedBy":"writ:intent"}`,
			"Writ denied pay: no plan. The model is told to declare one",
		},
		{
			`200 {"allowed":false,"decision":"deny","reason":"not in the plan: amend","rule":"unplanned","decidedBy":"writ:intent"}`,
			"Writ denied pay: not in the plan. The model may amend its plan",
		},
	} {
		if a := newMachine(t, nil, c.answer).answer("pay", `{}`, nil); a.SystemMessage != c.want {
			t.Errorf("%q, want %q", a.SystemMessage, c.want)
		}
	}
	a := newMachine(t, nil,
		`200 {"allowed":false,"decision":"hold","reason":"`+long+`","approvalId":"a1"}`).answer("pay", `{}`, nil)
	if len(a.SystemMessage) > maxLineLength || !strings.Contains(a.SystemMessage, "/ui/approvals/a1") {
		t.Errorf("%d bytes: %q", len(a.SystemMessage), a.SystemMessage)
	}
}

const maxLineLength = 300
