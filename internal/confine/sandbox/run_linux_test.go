//go:build amd64 || arm64

package sandbox_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"writ/internal/confine/sandbox"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, w *world, flat []string) {
		flags := append(flat, "--write", w.workspace)
		must(t, os.WriteFile(w.workspace+"/plain", []byte("text"), 0o644))
		for _, c := range []struct {
			command string
			exit    int
		}{
			{"true", 0}, {"exit 3", 3}, {"kill -9 $$", 137}, {"kill -TERM $$", 143},
		} {
			w.run(t, flags, c.command).want(t, c.exit, "")
		}
		for _, c := range []struct {
			args []string
			exit int
			says string
		}{
			{[]string{"--", "no-such-program"}, 127, "not found"},
			{[]string{"--", "./no-such-file"}, 127, "not found"},
			{[]string{"--", w.workspace + "/plain"}, 126, "may not be executed"},
			{[]string{"--", w.workspace}, 126, "is a directory"},
			{nil, 125, "no command is given"},
			{[]string{"--unknown", "--", "true"}, 125, "unknown flag"},
			{[]string{"--without", "everything", "--", "true"}, 125, "is not one of namespaces"},
			{[]string{"--limit", "memory=lots", "--", "true"}, 125, "--limit: memory: must be a number"},
			{[]string{"--write", "/", "--", "true"}, 125, "--write: / cannot be writable"},
			{[]string{"--write", "/proc/sys", "--", "true"}, 125, "cannot be writable"},
			{[]string{"--read", "/", "--", "true"}, 125, "--read: / cannot be shown"},
			{[]string{"--write", w.workspace + "/absent", "--", "true"}, 125, "no such file"},
			{[]string{"--net", "example.com", "--", "true"}, 125, "net[0]: must be HOST:PORT"},
			{[]string{"--net", "none", "--net", "a:1", "--", "true"}, 125, "none cannot stand beside a host"},
			{[]string{"--timeout", "-1s", "--", "true"}, 125, "for --timeout: must be a time such as"},
			{[]string{"--report", w.workspace + "/report", "--", "true"}, 125, "could change"},
		} {
			r := finish(t, w.command(t, append(slices.Clone(flags), c.args...)...))
			if r.exit != c.exit || !strings.Contains(r.errors, c.says) {
				t.Errorf("%q: exit %d, want %d and %q:\n%s", c.args, r.exit, c.exit, c.says, r.errors)
			}
		}
	})
}

func TestNothingIsOmittedSilently(t *testing.T) {
	t.Parallel()
	w := newWorld(t, user{"caller", -1})
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--without", "namespaces", "--without", "landlock"}, "nothing holds the files"},
		{[]string{"--without", "namespaces", "--net", "example.com:443"}, "HOST:PORT needs namespaces"},
		{
			[]string{"--without", "namespaces", "--write", w.workspace, "--protect", w.workspace + "/x"},
			"--protect: needs namespaces",
		},
		{append(flatFlags(w.user), "--write", w.workspace, "--read", w.workspace+"/sub"), "that needs namespaces"},
	} {
		must(t, os.MkdirAll(w.workspace+"/sub", 0o755))
		r := finish(t, w.command(t, append(c.args, "--", "true")...))
		if r.exit != 125 || !strings.Contains(r.errors, c.says) {
			t.Errorf("%q: exit %d: %s", c.args, r.exit, r.errors)
		}
	}
	if os.Getuid() == 0 {
		r := finish(t, w.command(t, "--write", w.workspace, "--without", "namespaces", "--", "true"))
		if r.exit != 125 || !strings.Contains(r.errors, "--without processes") {
			t.Errorf("root's processes are not bounded, and nothing says so: exit %d: %s", r.exit, r.errors)
		}
	}
}

// TestForbiddenNamespaces runs writ where namespaces are forbidden.
func TestForbiddenNamespaces(t *testing.T) {
	t.Parallel()
	for _, u := range users() {
		w := newWorld(t, u)
		outer := append(flatFlags(u), "--write", w.workspace, "--read", filepath.Dir(program))
		args := append(outer, "--", program, "run", "--write", w.workspace, "--", "true")
		r := finish(t, w.command(t, args...))
		if r.exit != 125 || !strings.Contains(r.errors, "to run without it: --without namespaces") {
			t.Errorf("exit %d: %s", r.exit, r.errors)
		}
	}
}

func TestStreamsAndEnvironment(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, w *world, flat []string) {
		cmd := w.command(t, append(flat, "--write", w.workspace, "--", "/bin/sh", "-c",
			`cat; echo "$HARMLESS-$SOME_API_TOKEN-$WRIT_API_KEY"; echo words >&2`)...)
		cmd.Stdin = strings.NewReader("from stdin\n")
		r := finish(t, cmd)
		r.want(t, 0, "from stdin\n1--\n")
		if r.errors != "words\n" {
			t.Errorf("stderr is %q", r.errors)
		}
		w.run(t, append(flat, "--write", w.workspace, "--env", "SOME_API_TOKEN"), "echo $SOME_API_TOKEN").
			want(t, 0, "canary of the environment")
	})
}

// TestPrivateDirectories: /tmp and the home are empty, writable, and gone afterwards.
func TestPrivateDirectories(t *testing.T) {
	t.Parallel()
	for _, u := range users() {
		w := newWorld(t, u)
		name := filepath.Base(w.root) + "-private"
		script := `ls -A /tmp ~; touch /tmp/` + name + ` /var/tmp/` + name + `2 ~/mine; ls -A ~; ls $TMPDIR; ` +
			`touch /x /etc/x /usr/x /home 2>&1 | grep -c Read-only`
		r := w.run(t, []string{"--write", w.workspace}, script)
		r.want(t, 0, "mine\n")
		if !strings.Contains(r.out, name+"2") || strings.Contains(r.out, "canary") {
			t.Errorf("got %s%s", r.out, r.errors)
		}
		for _, path := range []string{"/tmp/" + name, "/var/tmp/" + name + "2", w.home + "/mine"} {
			if _, err := os.Lstat(path); err == nil {
				t.Errorf("%s is outside", path)
			}
		}
	}
}

// TestWhatIsVisible: read-only inside writable, writable inside read-only, and names that
// are links.
func TestWhatIsVisible(t *testing.T) {
	t.Parallel()
	for _, u := range users() {
		w := newWorld(t, u)
		must(t, os.MkdirAll(w.workspace+"/kept", 0o755))
		must(t, os.MkdirAll(w.shown+"/open", 0o755))
		must(t, os.Symlink(w.workspace, w.root+"/link"))
		w.own(t)
		r := w.run(t, []string{
			"--write", w.root + "/link", "--read", w.workspace + "/kept", "--read", w.shown, "--write",
			w.shown + "/open",
		}, `touch a kept/b `+w.shown+`/c `+w.shown+`/open/d; cat `+w.root+`/link/canary`)
		r.want(t, 0, "canary of workspace")
		for path, there := range map[string]bool{
			w.workspace + "/a": true, w.workspace + "/kept/b": false, w.shown + "/c": false, w.shown + "/open/d": true,
		} {
			if _, err := os.Lstat(path); (err == nil) != there {
				t.Errorf("%s: %v\n%s", path, err, r.errors)
			}
		}
		elsewhere := w.command(t, "--", "true")
		if r := finish(t, elsewhere); r.exit != 125 || !strings.Contains(r.errors, "working directory is not visible") {
			t.Errorf("exit %d: %s", r.exit, r.errors)
		}
	}
}

// TestTimeoutEndsAll: also what has left the command's session.
func TestTimeoutEndsAll(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, w *world, flat []string) {
		mark := "86399." + strings.TrimPrefix(filepath.Base(w.root), "writ-world-")
		r, report := w.reported(t, append(flat, "--write", w.workspace, "--timeout", "700ms"),
			"setsid sleep "+mark+" & trap '' TERM; sleep "+mark+" & sleep "+mark)
		r.want(t, sandbox.ExitTimeout, "")
		if !report.TimedOut || report.Exit != 124 || report.DurationMS < 700 {
			t.Errorf("the report says %+v", report)
		}
		gone(t, mark)
	})
}

// TestDeathOfWritEndsAll kills writ itself.
func TestDeathOfWritEndsAll(t *testing.T) {
	t.Parallel()
	for _, u := range users() {
		w := newWorld(t, u)
		mark := "86398." + strings.TrimPrefix(filepath.Base(w.root), "writ-world-")
		cmd := w.command(t, "--write", w.workspace, "--", "/bin/sh", "-c",
			"setsid sleep "+mark+" & echo ready > ready; sleep "+mark)
		must(t, cmd.Start())
		appears(t, w.workspace+"/ready")
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		gone(t, mark)
	}
}

// TestLeftoversEnd: what a command leaves running ends with it.
func TestLeftoversEnd(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, w *world, flat []string) {
		mark := "86397." + strings.TrimPrefix(filepath.Base(w.root), "writ-world-")
		w.run(t, append(flat, "--write", w.workspace), "setsid sleep "+mark+" >&- 2>&- <&- & exit 5").want(t, 5, "")
		gone(t, mark)
	})
}

func appears(t *testing.T, path string) {
	t.Helper()
	for range 3000 {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s did not appear", path)
}

// gone waits until no process has an argument.
func gone(t *testing.T, argument string) {
	t.Helper()
	for range 3000 {
		found := false
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, line := range lines {
			text, _ := os.ReadFile(line)
			found = found || slices.ContainsFunc(bytes.Split(text, []byte{0}), func(a []byte) bool {
				return string(a) == argument
			})
		}
		if !found {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("a process with %s still runs", argument)
}

func TestSignalsAreForwarded(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, w *world, flat []string) {
		for number, exit := range map[unix.Signal]int{
			unix.SIGTERM: 41, unix.SIGINT: 42, unix.SIGHUP: 43, unix.SIGUSR1: 44,
		} {
			_ = os.Remove(w.workspace + "/ready")
			cmd := w.command(t, append(flat, "--write", w.workspace, "--", "/bin/sh", "-c",
				"trap 'exit 41' TERM; trap 'exit 42' INT; trap 'exit 43' HUP; trap 'exit 44' USR1; touch ready; "+
					"while true; do sleep 0.05; done")...)
			must(t, cmd.Start())
			appears(t, w.workspace+"/ready")
			must(t, cmd.Process.Signal(number))
			_ = cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != exit {
				t.Errorf("%v: exit %d, want %d", number, got, exit)
			}
		}
	})
}

func TestQuotas(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, w *world, flat []string) {
		flags := append(flat, "--write", w.workspace,
			"--limit", "memory=256M", "--limit", "file=1M", "--limit", "files=64")
		// Not this program: the race detector alone needs more.
		w.run(t, flags, "LC_ALL=C dd if=/dev/zero of=/dev/null bs=512M count=1 2>&1").want(t, 1, "memory exhausted")
		r := w.run(t, flags, "ulimit -n; head -c 4000000 /dev/zero > large; ulimit -c; ls -l large")
		r.want(t, 0, "64\n")
		if info, err := os.Stat(w.workspace + "/large"); err != nil || info.Size() != 1<<20 {
			t.Errorf("large: %v %v", info, err)
		}
	})
}

func TestForksAreBounded(t *testing.T) {
	t.Parallel()
	for _, u := range users() {
		w := newWorld(t, u)
		r := finish(t, w.command(t, "--write", w.workspace, "--read", filepath.Dir(attacker()),
			"--limit", "processes=301", "--", attacker(), "attack", "forks"))
		var count int
		if _, err := fmt.Sscan(r.out, &count); err != nil || count < 100 || count > 301 {
			t.Errorf("%d processes were started, want at most 301: %s", count, r.errors)
		}
	}
}

// TestProtectedPaths: what steers programs outside cannot be changed or replaced; what
// was absent and appears is told.
func TestProtectedPaths(t *testing.T) {
	t.Parallel()
	for _, u := range users() {
		w := newWorld(t, u)
		for path, text := range map[string]string{
			".git/hooks/pre-commit": "hook", ".git/config": "config", ".git/index": "index",
			".claude/settings.json": "{}",
			".mcp.json":             "{}", "deploy/key": "key",
		} {
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(w.workspace, path)), 0o755))
			must(t, os.WriteFile(filepath.Join(w.workspace, path), []byte(text), 0o644))
		}
		w.own(t)
		script := `for f in .git/hooks/pre-commit .git/hooks/new .git/config .claude/x .mcp.json deploy/key; do
echo changed > $f; rm -rf $f; mv $f gone; chmod 777 $f; touch -d @1 $f; done
mv .git elsewhere; mv .claude elsewhere; mv deploy elsewhere; echo new > other && mv -f other .mcp.json; rm -rf .git .claude
echo index2 > .git/index2 && mv .git/index2 .git/index; echo evil > .envrc; mkdir -p .vscode; echo fine > normal`
		before := protectedState(t, w)
		r, report := w.reported(t, []string{"--write", w.workspace, "--protect", "deploy/key"}, script)
		if after := protectedState(t, w); after != before {
			t.Errorf("got:\n%s\nwant:\n%s\n%s", after, before, r.errors)
		}
		want := []sandbox.Change{
			{Path: w.workspace + "/.envrc", Change: "appeared"}, {Path: w.workspace + "/.vscode", Change: "appeared"},
		}
		if got := setAside(t, report); !slices.Equal(got, want) || r.exit != sandbox.ExitProtected ||
			!strings.Contains(r.errors, "writ run: protected path appeared: "+w.workspace+"/.envrc") {
			t.Errorf("exit %d, told of %v\n%s", r.exit, got, r.errors)
		}
		if _, err := os.Stat(w.workspace + "/normal"); err != nil {
			t.Error(err)
		}
	}
}

func protectedState(t *testing.T, w *world) string {
	t.Helper()
	var lines []string
	for _, path := range []string{
		".git/hooks/pre-commit", ".git/config", ".claude/settings.json", ".mcp.json", "deploy/key",
	} {
		text, err := os.ReadFile(filepath.Join(w.workspace, path))
		lines = append(lines, fmt.Sprint(path, string(text), err, metadataOf(t, filepath.Join(w.workspace, path))))
	}
	for _, path := range []string{".git/hooks", ".claude"} {
		entries, err := os.ReadDir(filepath.Join(w.workspace, path))
		lines = append(lines, fmt.Sprint(path, len(entries), err))
	}
	return strings.Join(lines, "\n")
}

// TestChangesAreToldWithoutNamespaces: Landlock cannot protect a path in a writable
// directory.
func TestChangesAreToldWithoutNamespaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t, user{"caller", -1})
	must(t, os.MkdirAll(w.workspace+"/.git/hooks", 0o755))
	must(t, os.WriteFile(w.workspace+"/.git/config", []byte("[a]"), 0o644))
	must(t, os.WriteFile(w.workspace+"/.mcp.json", nil, 0o644))
	r, report := w.reported(t, append(flatFlags(w.user), "--write", w.workspace),
		"echo x > .git/hooks/pre-commit; printf '[b]' > .git/config; rm .mcp.json; touch .envrc")
	r.want(t, sandbox.ExitProtected, "")
	want := []sandbox.Change{
		{Path: w.workspace + "/.envrc", Change: "appeared"}, {Path: w.workspace + "/.git/config", Change: "changed"},
		{Path: w.workspace + "/.git/hooks", Change: "changed"}, {Path: w.workspace + "/.mcp.json", Change: "removed"},
	}
	if got := setAside(t, report); !slices.Equal(got, want) {
		t.Errorf("told of %v", got)
	}
	r = w.run(t, append(flatFlags(w.user), "--write", w.workspace), "chmod 600 .git/config")
	r.want(t, sandbox.ExitProtected, "")
}

func TestReport(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, w *world, flat []string) {
		r, report := w.reported(t, append(flat, "--write", w.workspace, "--decision", "d-1"), "kill -KILL $$")
		r.want(t, 137, "")
		if report.Version != 1 || report.Decision != "d-1" || report.Exit != 137 || report.Signal != "SIGKILL" ||
			!report.CallsAreAll || !slices.Equal(report.Removed, []string{"SOME_API_TOKEN", "WRIT_API_KEY"}) ||
			!slices.Equal(report.Limits.Write, []string{w.workspace}) {
			t.Errorf("got %+v", report)
		}
		held := report.Held
		if held.Landlock == 0 || !held.Filter || held.Net != "none" || (len(held.Namespaces) == 6) != (flat == nil) {
			t.Errorf("held %+v", held)
		}
		if (len(report.NotHeld) == 0) != (flat == nil) {
			t.Errorf("not held: %v", report.NotHeld)
		}
	})
}

// TestProxy reaches a listed address and no other.
func TestProxy(t *testing.T) {
	t.Parallel()
	for _, u := range users() {
		w := newWorld(t, u)
		listed, other := echoTCP(t), echoTCP(t)
		_, port, _ := net.SplitHostPort(listed)
		file := filepath.Join(w.root, "report.json")
		cmd := w.command(t, "--write", w.workspace, "--read", filepath.Dir(attacker()), "--report", file,
			"--net", listed, "--net", "localhost:"+port, "--", attacker(), "attack", "proxy")
		cmd.Stdin = strings.NewReader(strings.Join([]string{listed, other, "localhost:" + port, "LOCALHOST.:" + port},
			"\n"))
		r := finish(t, cmd)
		r.want(t, 0, listed+` "HTTP/1.1 200 Connection established\r\n\r\nhello\n"`)
		r.want(t, 0, other+` "HTTP/1.1 403 Forbidden`)
		r.want(t, 0, "localhost:"+port+` "HTTP/1.1 403 Forbidden`)
		want := []sandbox.Count{
			{Name: "LOCALHOST.:" + port, Count: 1}, {Name: "localhost:" + port, Count: 1}, {Name: other, Count: 1},
		}
		got := readReport(t, file).Hosts
		for _, count := range want {
			if !slices.Contains(got, count) {
				t.Errorf("refused %v, want %v among them", got, count)
			}
		}
	}
}

func echoTCP(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				buffer := make([]byte, 64)
				n, _ := conn.Read(buffer)
				_, _ = conn.Write(buffer[:n])
			}()
		}
	}()
	return listener.Addr().String()
}

// TestLoopbackInside: servers that a command starts for itself work.
func TestLoopbackInside(t *testing.T) {
	t.Parallel()
	w := newWorld(t, user{"caller", -1})
	cmd := w.command(t, "--write", w.workspace, "--read", filepath.Dir(attacker()), "--", attacker(), "attack",
		"loopback")
	finish(t, cmd).want(t, 0, "connected")
}

// TestOrdinaryWork runs what developers run.
func TestOrdinaryWork(t *testing.T) {
	t.Parallel()
	goRoot, err := exec.Command("go", "env", "GOROOT").Output()
	must(t, err)
	for _, u := range users() {
		w := newWorld(t, u)
		must(t, os.WriteFile(w.workspace+"/go.mod", []byte("module x\n\ngo 1.26\n"), 0o644))
		must(t, os.WriteFile(w.workspace+"/main.go", []byte("package main\n\nfunc main() { println(42) }\n"), 0o644))
		w.own(t)
		toolchain := strings.TrimSpace(string(goRoot))
		r := w.run(t, []string{"--write", w.workspace, "--read", toolchain},
			`export PATH=`+toolchain+`/bin:$PATH GOTOOLCHAIN=local GOPROXY=off
git init -q . && git add . && git -c user.name=a -c user.email=a@b.c commit -q -m one && git log --oneline | wc -l &&
mkdir dir && cp main.go dir/ && mv dir/main.go dir/copy.go && tar cf - dir | tar tf - && gofmt -l . && go list ./...`)
		r.want(t, 0, "dir/copy.go")
		r.want(t, 0, "x/dir\n")
	}
}
