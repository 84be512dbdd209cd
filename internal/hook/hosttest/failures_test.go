package hosttest_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"writ/internal/hook"
	"writ/internal/hook/guardfile"
	"writ/internal/hook/hosttest"
	"writ/internal/hook/setup"
	"writ/internal/hook/state"
)

// failure is a case of testdata/failures.json: what goes wrong, while a server that is asked allows the call.
type failure struct {
	Name    string            `json:"name"`
	Stdin   string            `json:"stdin"`   // in place of the payload; PAYLOAD and EMPTY stand for these
	Input   string            `json:"input"`   // what is wrong with stdin itself
	Replace []string          `json:"replace"` // in the payload
	Args    []string          `json:"args"`    // in place of the installed ones
	Env     map[string]string `json:"env"`     // as the host passes it on
	Guard   []string          `json:"guard"`   // replaced in the guard file
	Before  string            `json:"before"`  // a script that breaks something
	Limits  string            `json:"limits"`  // of the process, in the shell's words
	Signal  string            `json:"signal"`  // what writ gets once the server was asked
	Answer  int               `json:"answer"`  // seconds for one answer of the server; 0: as many as a machine may need
	Server  serving           `json:"server"`

	Effect hosttest.Effect `json:"effect"` // of a control; empty: the call must not run
	Want   string          `json:"want"`   // in the reason
}

// TestFailuresDeny runs every case as the host would, and reads what comes out as the host does.
func TestFailuresDeny(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/failures.json")
	if err != nil {
		t.Fatal(err)
	}
	var failures []failure
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&failures); err != nil {
		t.Fatalf("testdata/failures.json: %v", err)
	}
	for _, f := range failures {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			p := prepare(t, f)
			p.check(t, p.run(t, "bash"))
		})
		if f.Limits != "" || f.Args != nil {
			continue // our program runs no other commands than the installed ones
		}
		t.Run(f.Name+", without bash", func(t *testing.T) {
			t.Parallel()
			p := prepare(t, f)
			p.check(t, p.run(t, setup.Shell(p.installed)))
		})
		t.Run(f.Name+", without bash, and writ is of another build", func(t *testing.T) {
			t.Parallel()
			p := prepare(t, f)
			p.ageShell(t)
			p.check(t, p.run(t, setup.Shell(p.installed)))
		})
	}
}

// check reads an answer as the host does.
func (p *process) check(t *testing.T, answer hosttest.Answer) {
	t.Helper()
	got := hosttest.Read(answer)
	if p.Effect != "" {
		if got.Effect != p.Effect {
			t.Errorf("the host reads %+v, want that it %s: %+v", got, p.Effect, answer)
		}
		return
	}
	if !got.Denied() || !strings.Contains(got.Reason, p.Want) {
		t.Errorf("the host reads %+v, want a deny with %q: %+v", got, p.Want, answer)
	}
	if strings.Contains(answer.Stdout+answer.Stderr, "ak_test_") {
		t.Errorf("the answer shows the key: %+v", answer)
	}
	if n := p.elsewhere.other.Load() + p.server.other.Load(); n > 0 {
		t.Errorf("%d requests went to a server that the guard file does not name", n)
	}
}

// longAnswer is the limit for one answer of the server, in seconds, in tests that are not about limits: how fast a
// machine is must not matter.
const longAnswer = 60

const session = "0f8fad5b-d9cb-469f-a165-70867728950e"

const payload = `{"session_id":"SESSION","transcript_path":"HOME/.gemini/tmp/project/chats/session-1.jsonl",` +
	`"cwd":"PROJECT","hook_event_name":"BeforeTool","timestamp":"2026-11-16T12:00:00.000Z",` +
	`"tool_name":"read_file","tool_input":{"file_path":"notes.txt"}}`

const guardText = `{"version":1,"server":"SERVER","key":"ak_test_secret","organization":"org","agent":"gemini-cli",` +
	`"host":"gemini","manifest":"","mode":"enforce","approvalWaitSeconds":0,"answerSeconds":ANSWER,"carryPlan":false,"stateDir":"STATE",` +
	`"writ":"BIN/writ","planServer":"BIN/writ-plan","capabilities":["confine"],"protected":[]}`

// process is a hook that is about to be started.
type process struct {
	failure
	server    *fakeServer
	elsewhere *fakeServer // allows everything, and is none that may be asked
	home      string
	project   string
	names     *strings.Replacer
	installed *guardfile.File
	timeout   time.Duration
}

// prepare makes a machine and breaks it.
func prepare(t *testing.T, f failure) *process {
	t.Helper()
	home, project := t.TempDir(), t.TempDir()
	p := &process{failure: f, home: home, project: project, server: startServer(t, f.Server)}
	p.elsewhere = startServer(t, serving{})
	p.elsewhere.counts = true
	p.names = strings.NewReplacer("SESSION", session, "HOME", home, "PROJECT", project, "SERVER", p.server.URL,
		"STATE", home+"/state", "BIN", home+"/bin", "GUARD", home+"/guard.json", "OTHER", p.elsewhere.URL,
		"CERTIFICATE", home+"/certificate.pem", "ANSWER", strconv.Itoa(cmp.Or(f.Answer, longAnswer)))
	putPrograms(t, home+"/bin", strings.Contains(f.Before, "$BIN"))
	p.writeGuard(t)
	p.linkShell(t)
	p.writeCertificate(t)
	script := exec.CommandContext(t.Context(), "bash", "-ec", f.Before)
	script.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "PROJECT=" + project, "GUARD=" + home + "/guard.json",
		"STATE=" + home + "/state", "BIN=" + home + "/bin",
	}
	if output, err := script.CombinedOutput(); err != nil {
		t.Fatalf("break the machine: %v: %s", err, output)
	}
	return p
}

// writeGuard writes the guard file, and the state as the hook before-agent leaves it.
func (p *process) writeGuard(t *testing.T) {
	t.Helper()
	path := p.home + "/guard.json"
	whole := p.names.Replace(guardText)
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(whole)
	guard, err := guardfile.Read(path)
	if err != nil {
		t.Fatalf("read the guard file: %v", err)
	}
	p.installed = guard
	p.timeout = setup.Timeout(guard, hook.BeforeTool)
	s, err := state.Open(guard.StateDir, guard.Server+guard.Key, session)
	if err != nil {
		t.Fatalf("make the state: %v", err)
	}
	if err := s.Begin(state.Turn{Number: 1, TraceID: strings.Repeat("a", 32), StartedAt: time.Now()}); err != nil {
		t.Fatalf("make the state: %v", err)
	}
	if len(p.Guard) > 0 {
		changed := strings.Replace(whole, p.names.Replace(p.Guard[0]), p.names.Replace(p.Guard[1]), 1)
		if changed == whole {
			t.Fatalf("the guard file has no %s", p.Guard[0])
		}
		write(changed)
	}
}

// linkShell puts what stands for bash into its place, as init does.
func (p *process) linkShell(t *testing.T) {
	t.Helper()
	from, err := programs()
	if err == nil {
		err = errors.Join(os.Mkdir(setup.ShellFolder(p.installed), 0o700), os.Link(from+"/writ",
			setup.Shell(p.installed)))
	}
	if err != nil {
		t.Fatalf("put the shell into its place: %v", err)
	}
}

// ageShell makes what stands for bash an older copy: then it has writ answer, in a process of its own.
func (p *process) ageShell(t *testing.T) {
	t.Helper()
	shell := setup.Shell(p.installed)
	if err := errors.Join(os.Remove(shell), os.Link(older(), shell)); err != nil {
		t.Fatalf("make the shell older: %v", err)
	}
}

// writeCertificate writes the certificate that the server has, for whoever would trust it.
func (p *process) writeCertificate(t *testing.T) {
	t.Helper()
	if p.server.Certificate() == nil {
		return
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	if err := os.WriteFile(p.home+"/certificate.pem", text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// command is what the host gives to bash.
func (p *process) command() string {
	installed := setup.Command(p.installed, hook.BeforeTool)
	if p.Args == nil {
		return installed
	}
	words := "'" + strings.Join(p.Args, "' '") + "'"
	before, rest, _ := strings.Cut(installed, "'"+p.home)
	_, after, _ := strings.Cut(rest, "before-tool")
	return before + p.home + "/bin/writ " + p.names.Replace(words) + after
}

// run starts the hook as the host does and waits as long as the host.
func (p *process) run(t *testing.T, shell string) hosttest.Answer {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), p.timeout)
	defer stop()
	command := p.command()
	if p.Limits != "" {
		command = p.Limits + "; " + command
	}
	host := exec.CommandContext(ctx, shell, "-c", command)
	host.Dir = p.project
	host.Env = p.environment()
	host.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	host.Cancel = func() error { return syscall.Kill(-host.Process.Pid, syscall.SIGKILL) }
	host.WaitDelay = time.Minute
	var stdout, stderr bytes.Buffer
	host.Stdout, host.Stderr = &stdout, &stderr
	p.feed(t, host)
	if err := host.Start(); err != nil {
		t.Fatalf("start the hook: %v", err)
	}
	p.interrupt(t, host.Process.Pid)
	err := host.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && ctx.Err() == nil && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatalf("run the hook: %v", err)
	}
	return hosttest.Answer{
		Stdout: stdout.String(), Stderr: stderr.String(),
		Exit: max(0, host.ProcessState.ExitCode()), TimedOut: ctx.Err() != nil,
	}
}

// environment is what the host passes on, and what the settings set over it.
func (p *process) environment() []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "GEMINI_SESSION_ID=" + session,
		"GEMINI_PROJECT_DIR=" + p.project,
	}
	for name, value := range p.Env {
		env = append(env, name+"="+p.names.Replace(value))
	}
	for name, value := range setup.Environment(p.installed) {
		env = append(env, name+"="+value)
	}
	return env
}

// text is what the hook gets on stdin.
func (p *process) text() string {
	text := payload
	for i := 0; i+1 < len(p.Replace); i += 2 {
		text = strings.Replace(text, p.Replace[i], p.Replace[i+1], 1)
	}
	if p.Stdin != "" {
		text = strings.NewReplacer("PAYLOAD", payload, "EMPTY", "").Replace(p.Stdin)
	}
	return p.names.Replace(text)
}

// feed gives the hook its stdin.
func (p *process) feed(t *testing.T, host *exec.Cmd) {
	t.Helper()
	text := p.text()
	if len(p.Replace) > 0 && text == p.names.Replace(payload) {
		t.Fatalf("the payload has no %q", p.Replace[0])
	}
	switch p.Input {
	case "":
	case "closed":
		host.Args[2] = "exec <&-; " + host.Args[2]
		return
	case "hangs":
		text = ""
	case "hangs in the middle":
		text = text[:len(text)/2]
	case "oversized":
		text = strings.Replace(text, "notes.txt", strings.Repeat("a", 16<<20), 1)
	case "deep":
		deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
		text = strings.Replace(text, `"notes.txt"`, deep, 1)
	case "not UTF-8":
		text = strings.Replace(text, "notes.txt", "notes\xff.txt", 1)
	default:
		t.Fatalf("no such input: %s", p.Input)
	}
	host.Stdin = socket(t, text, strings.HasPrefix(p.Input, "hangs"))
}

// socket is a socket to read the text from, as the host gives one: bash tells it from a pipe.
func socket(t *testing.T, text string, hangs bool) *os.File {
	t.Helper()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	read, write := os.NewFile(uintptr(pair[0]), "stdin"), os.NewFile(uintptr(pair[1]), "host")
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = io.WriteString(write, text) // a hook may end before it has read all
		if !hangs {
			_ = syscall.Shutdown(pair[1], syscall.SHUT_WR)
		}
	}()
	t.Cleanup(func() {
		_ = read.Close() // ends a write that nobody reads
		<-written
		_ = write.Close()
	})
	return read
}

// interrupt sends writ the signal of the case, once it waits for the server: beneath the shell, or in its
// place. Then the server hangs up on a writ that goes on.
func (p *process) interrupt(t *testing.T, shell int) {
	t.Helper()
	if p.Signal == "" {
		return
	}
	select {
	case <-p.server.asked:
	case <-time.After(p.timeout):
		t.Error("the server was not asked")
		return
	}
	pids := strings.Fields(string(children(shell)))
	if len(pids) == 0 {
		pids = []string{strconv.Itoa(shell)}
	}
	if len(pids) != 1 {
		t.Fatalf("find writ beneath the shell: %q", pids)
	}
	kill := exec.CommandContext(t.Context(), "kill", "-"+p.Signal, pids[0])
	if output, err := kill.CombinedOutput(); err != nil {
		t.Fatalf("signal writ: %v: %s", err, output)
	}
	close(p.server.hangUp)
}

// children are the processes that any thread of a process has started.
func children(pid int) (pids []byte) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file) // a thread may have ended
		pids = append(pids, text...)
	}
	return pids
}
