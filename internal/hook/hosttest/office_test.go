package hosttest_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"writ/client"
	"writ/internal/database/dbtest"
	"writ/internal/hook/guardfile"
	"writ/internal/hook/hosttest"
	"writ/internal/hook/install"
	"writ/internal/hook/setup"
	"writ/internal/testserver"
)

// office is an organization, and a machine whose Gemini CLI it guards.
type office struct {
	*hosttest.Machine
	server *testserver.Server
	gate   *gate
	owner  *testserver.Person
	org    string
	guard  map[string]any
}

// newOffice sets a machine up as writ init does, with changes to the guard file.
func newOffice(t *testing.T, host hosttest.Host, policy string, change map[string]any) *office {
	t.Helper()
	o := newUnguarded(t, host, policy)
	o.setGuard(t, change)
	o.install(t)
	return o
}

// eachHost tests with each version of the host that is supported.
func eachHost(t *testing.T, test func(t *testing.T, host hosttest.Host)) {
	t.Helper()
	for _, host := range hosttest.Hosts(t) {
		t.Run(host.Version, func(t *testing.T) {
			t.Parallel()
			test(t, host)
		})
	}
}

// newUnguarded is an office whose machine has the programs, and is not guarded yet.
func newUnguarded(t *testing.T, host hosttest.Host, policy string) *office {
	t.Helper()
	s := testserver.Start(t, dbtest.SQLite(t))
	o := &office{Machine: hosttest.NewMachine(t, host), server: s, owner: s.Person("owner")}
	o.gate = newGate(t, s.Public.BaseURL)
	o.Env = append(o.Env, "SHLVL=1")
	o.org = s.Organization(o.owner, "Office")
	s.ActivePolicy(o.owner, o.org, policy)
	key, err := o.owner.CreateKey(t.Context(), client.NewKey{
		Name: "hooks", OrganizationID: o.org,
		Scopes: []string{"enforce", "audit", "ingest", "delegation.request", "profile.propose"},
	})
	if err != nil {
		t.Fatalf("make a key: %v", err)
	}
	putPrograms(t, o.Home+"/bin", true)
	o.guard = map[string]any{
		"version": 1, "server": o.gate.URL, "key": key.APIKey, "organization": o.org,
		"agent": "gemini-cli", "host": "gemini", "manifest": "", "mode": "enforce", "approvalWaitSeconds": 0,
		"answerSeconds": longAnswer, "carryPlan": false, "stateDir": o.Home + "/state",
		"writ": o.Home + "/bin/writ", "planServer": o.Home + "/bin/writ-plan",
		"capabilities": []string{}, "protected": []string{},
	}
	return o
}

// initGemini guards the machine by writ init, with a key of its own.
func (o *office) initGemini(t *testing.T) {
	t.Helper()
	output, exit := o.writ(t, "init", "gemini", "--wait", "0", "--answer", strconv.Itoa(longAnswer))
	if exit != 0 {
		t.Fatalf("writ init gemini: exit %d, %s", exit, output)
	}
}

// writ runs writ in the project, as the person.
func (o *office) writ(t *testing.T, args ...string) (output string, exit int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), o.Home+"/bin/writ", args...)
	command.Dir = o.Project
	command.Env = []string{
		"PATH=" + filepath.Dir(o.Host.Program) + ":" + os.Getenv("PATH"), "HOME=" + o.Home,
		"WRIT_URL=" + o.gate.URL, "WRIT_API_KEY=" + o.guard["key"].(string), "GEMINI_CLI_TRUST_WORKSPACE=true",
	}
	text, err := command.CombinedOutput()
	if command.ProcessState == nil {
		t.Fatalf("run writ: %v", err)
	}
	return string(text), command.ProcessState.ExitCode()
}

// setGuard writes the guard file with changes, which hooks see at once.
func (o *office) setGuard(t *testing.T, change map[string]any) {
	t.Helper()
	maps.Copy(o.guard, change)
	text, err := json.Marshal(o.guard)
	if err != nil {
		t.Error(err)
	}
	o.WriteHome(t, "guard.json", string(text))
}

func (o *office) install(t *testing.T) {
	t.Helper()
	guard, err := guardfile.Read(o.Home + "/guard.json")
	if err != nil {
		t.Fatal(err)
	}
	settings, err := os.ReadFile(o.Home + "/.gemini/settings.json")
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := setup.Insert(string(settings), guard)
	if err != nil {
		t.Fatal(err)
	}
	o.WriteHome(t, ".gemini/settings.json", text)
	if _, err := install.PutShell(guard); err != nil {
		t.Fatal(err)
	}
	for name, content := range setup.Extension(guard) {
		o.WriteHome(t, filepath.Join(".gemini/extensions/writ", name), content)
	}
}

// shell runs a script in the project, as the person.
func (o *office) shell(t *testing.T, script string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-ec", script)
	command.Dir, command.Env = o.Project, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + o.Home}
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("%s: %v: %s", script, err, output)
	}
}

// answer waits for a request for approval and answers it. The file must not be there before.
func (o *office) answer(t *testing.T, yes bool, file string) {
	for t.Context().Err() == nil {
		page, err := o.owner.ApprovalRequests(t.Context(), o.org, client.ApprovalFilter{Status: "pending"})
		if err != nil || len(page.Items) == 0 {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if o.Has(file) {
			t.Errorf("%s was there before a person answered", file)
		}
		if yes {
			_, err = o.owner.Approve(t.Context(), o.org, client.Approval{ID: page.Items[0].ID})
		} else {
			_, err = o.owner.Reject(t.Context(), o.org, page.Items[0].ID, "a person said no")
		}
		if err != nil {
			t.Errorf("answer: %v", err)
		}
		return
	}
}

// act is one reply of the model in a session, and what must come of it.
type act struct {
	name   string
	before func() // happens before the model replies
	calls  []hosttest.Call
	ran    string // a file that is in the project afterwards
	not    string // one that is not
	told   string // what the model is told
	after  func() // happens once the calls have ended
}

// play has the host work on a prompt, and checks each act when the host has sent its results. A sub-agent's requests
// are acts too.
func (o *office) play(t *testing.T, prompt string, acts ...act) hosttest.Run {
	t.Helper()
	script, played := o.script(t, "done", acts)
	run := o.Run(t, prompt, script)
	if *played != len(acts)+1 {
		t.Errorf("the session has %d replies, want %d: %.2000s", *played, len(acts)+1, run.Stderr)
	}
	return run
}

// script plays acts to the host and then says the last words. It counts its replies.
func (o *office) script(t *testing.T, lastWords string, acts []act) (func(hosttest.Request) hosttest.Reply, *int) {
	played := new(int)
	return func(r hosttest.Request) hosttest.Reply {
		if *played > 0 && *played <= len(acts) {
			o.check(t, acts[*played-1], r.Results())
		}
		*played++
		if *played > len(acts) {
			return hosttest.Says(lastWords)
		}
		if a := acts[*played-1]; a.before != nil {
			a.before()
		}
		return hosttest.Calls(acts[*played-1].calls...)
	}, played
}

func (o *office) check(t *testing.T, a act, results []string) {
	t.Helper()
	if a.after != nil {
		a.after()
	}
	told := strings.Join(results, "\n")
	if a.ran != "" && !o.Has(a.ran) {
		t.Errorf("%s: it did not run; the model was told %.600s", a.name, told)
	}
	if a.not != "" && o.Has(a.not) {
		t.Errorf("%s: it RAN; the model was told %.600s", a.name, told)
	}
	if !strings.Contains(told, a.told) {
		t.Errorf("%s: the model was told %.600s, want %q", a.name, told, a.told)
	}
}

func register(arguments map[string]any) hosttest.Call {
	return hosttest.Call{Tool: "mcp_writ_register_intent_plan", Arguments: arguments}
}

func step(tool string, params map[string]any) map[string]any {
	if params == nil {
		return map[string]any{"action": tool}
	}
	return map[string]any{"action": tool, "params": params}
}

// gate stands between the hooks and the server, and can be shut.
type gate struct {
	*httptest.Server
	how   atomic.Value // a string
	ended chan struct{}

	hanging atomic.Int64 // requests that wait
}

func newGate(t *testing.T, server string) *gate {
	t.Helper()
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{ended: make(chan struct{})}
	g.how.Store("")
	through := httputil.NewSingleHostReverseProxy(to)
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch g.how.Load() {
		case "hangs":
			g.hanging.Add(1)
			defer g.hanging.Add(-1)
			select {
			case <-g.ended:
			case <-r.Context().Done():
			}
			panic(http.ErrAbortHandler)
		case "closed":
			panic(http.ErrAbortHandler)
		case "fails":
			http.Error(w, `{"allowed":true}`, http.StatusInternalServerError)
		default:
			through.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		close(g.ended)
		g.CloseClientConnections()
		g.Close()
	})
	return g
}
