package sandbox

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"writ/internal/confine"
)

var update = flag.Bool("update", false, "write the golden files")

func TestEnvironment(t *testing.T) {
	t.Parallel()
	passed, removed := cleaned([]string{
		"PATH=/bin", "GOFLAGS=-x", "KEYBOARD=us", "GITHUB_TOKEN=1", "aws_secret_access_key=2", "DB_PASSWORD=3",
		"OPENAI_API_KEY=4", "SSH_AUTH_SOCK=/x", "WRIT_URL=5", "HTTPS_PROXY=http://proxy", "no_proxy=*", "KEPT_TOKEN=6",
		"REDIS_URL=redis://:pw@host/0", "PIP_INDEX_URL=https://u:p@h/s", "DOCS_URL=https://h/a@b:c", "SSHPASS=7",
		"API_KEYS=8",
	}, []string{"KEPT_TOKEN"})
	if want := []string{
		"PATH=/bin", "GOFLAGS=-x", "KEYBOARD=us", "KEPT_TOKEN=6", "DOCS_URL=https://h/a@b:c",
	}; !slices.Equal(passed, want) {
		t.Errorf("passed %q, want %q", passed, want)
	}
	want := []string{
		"API_KEYS", "DB_PASSWORD", "GITHUB_TOKEN", "OPENAI_API_KEY", "PIP_INDEX_URL", "REDIS_URL", "SSHPASS",
		"SSH_AUTH_SOCK",
		"WRIT_URL", "aws_secret_access_key",
	}
	if !slices.Equal(removed, want) {
		t.Errorf("removed %q, want %q", removed, want)
	}
}

// TestLinksDoNotWiden: an earlier command can make links in the working directory.
func TestLinksDoNotWiden(t *testing.T) {
	t.Parallel()
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(outside, "work")
	if err := os.MkdirAll(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{
		"top": "/", "dev": "/dev", "up": "..", "near": "real", "../named": "work",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for path, problem := range map[string]string{
		dir + "/top": "name the directories", dir + "/top/etc/..": "name the directories",
		dir + "/dev": "name the directories",
		dir + "/up":  "leads out of the working directory", dir + "/top/usr": "leads out of the working directory",
		dir + "/near": "", dir + "/real": "", dir: "", outside + "/named": "",
	} {
		for _, limits := range []confine.Limits{{Write: []string{path}}, {Read: []string{path}}} {
			o := Options{Command: []string{"true"}, Dir: dir, Limits: limits}
			err := o.checkPaths()
			if (err == nil) != (problem == "") || err != nil && !strings.Contains(err.Error(), problem) {
				t.Errorf("%s: %v, want %q", path, err, problem)
			}
		}
	}
}

func TestQuotasSet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, problem string
		want          Quotas
	}{
		{"memory=2G", "", Quotas{Memory: 2 << 30}},
		{"file=10K", "", Quotas{File: 10 << 10}},
		{"files=100", "", Quotas{Files: 100}},
		{"processes=400", "", Quotas{Processes: 400}},
		{"processes=10", "at least 301", Quotas{}},
		{"files=3", "at least 16", Quotas{}},
		{"memory=0", "must be a number", Quotas{}},
		{"memory=-1", "must be a number", Quotas{}},
		{"memory", "must be a number", Quotas{}},
		{"time=1", "must be NAME=NUMBER", Quotas{}},
	} {
		var got Quotas
		err := got.Set(c.text)
		if (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) ||
			got != c.want {
			t.Errorf("%s: %+v, %v", c.text, got, err)
		}
	}
}

func TestProtectedPaths(t *testing.T) {
	t.Parallel()
	got := protectedPaths([]string{"/w", "/r/.git"}, []string{"/w/deploy", "/elsewhere"})
	for _, path := range []string{
		"/w/.git/hooks", "/w/.git/config", "/w/.mcp.json", "/w/deploy", "/r/.git/hooks", "/r/.git/config",
	} {
		if !slices.Contains(got, path) {
			t.Errorf("%s is not protected", path)
		}
	}
	if slices.Contains(got, "/elsewhere") ||
		slices.Contains(protectedPaths([]string{"/w", "/w/.claude"}, nil), "/w/.claude") {
		t.Error("protects what nobody may write, or what the caller made writable by name")
	}
}

func TestProxyAddresses(t *testing.T) {
	t.Parallel()
	p := newProxy([]string{"one.test:443", "[::ffff:127.0.0.1]:80"})
	p.lookup = func(_ context.Context, _, host string) ([]netip.Addr, error) {
		return map[string][]netip.Addr{
			"private.test": {netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("169.254.169.254")},
			"mapped.test":  {netip.MustParseAddr("::ffff:127.0.0.1")},
			"mixed.test":   {netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("1.1.1.1")},
		}[host], nil
	}
	for host, want := range map[string]string{
		"private.test": "[]", "mapped.test": "[]", "mixed.test": "[1.1.1.1]", "127.0.0.1": "[127.0.0.1]",
	} {
		found, err := p.addresses(t.Context(), host)
		var texts []string
		for _, address := range found {
			texts = append(texts, address.String())
		}
		if got := "[" + strings.Join(texts, " ") + "]"; got != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", host, got, err, want)
		}
	}
	for to, allowed := range map[string]bool{
		"one.test:443": true, "ONE.test.:443": true, "one.test:80": false, "two.test:443": false, "127.0.0.1:80": true,
		"one.test": false, "": false,
	} {
		if p.allowed[target(to)] != allowed {
			t.Errorf("%q is allowed: %v", to, !allowed)
		}
	}
}

func TestProxyKnowsConnectAlone(t *testing.T) {
	t.Parallel()
	p := newProxy([]string{"127.0.0.1:80"})
	for request, want := range map[string]string{
		"GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n":   "HTTP/1.1 405",
		"CONNECT 127.0.0.1:81 HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n": "HTTP/1.1 403",
		"CONNECT evil.test:443 HTTP/1.1\r\nHost: x\r\n\r\n":           "HTTP/1.1 403",
		"nonsense\r\n\r\n": "",
	} {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			p.handle(theirs)
		}()
		go func() { _, _ = ours.Write([]byte(request)) }()
		answer := make([]byte, 12)
		n, _ := ours.Read(answer)
		if got := string(answer[:n]); got != want {
			t.Errorf("%q is answered with %q, want %q", request, got, want)
		}
		_ = ours.Close()
	}
}

// TestProxyChecksTheName: a server that many sites share answers for all of them.
func TestProxyChecksTheName(t *testing.T) {
	t.Parallel()
	hello := func(name string) func(net.Conn) {
		return func(conn net.Conn) {
			_ = tls.Client(conn, &tls.Config{ServerName: name, InsecureSkipVerify: name == ""}).Handshake()
		}
	}
	for _, c := range []struct {
		to, refused string
		send        func(net.Conn)
	}{
		{"one.test:443", "", hello("one.test")},
		{"one.test:443", "", hello("ONE.test")},
		{"one.test:443", "two.test by way of one.test:443", hello("two.test")},
		{"one.test:443", " by way of one.test:443", hello("")},
		{"one.test:22", "", func(conn net.Conn) { _, _ = conn.Write([]byte("SSH-2.0-x")) }},
		{"192.0.2.1:443", "", hello("two.test")},
	} {
		ours, theirs := net.Pipe()
		go c.send(ours)
		p := newProxy(nil)
		begin := make([]byte, 1)
		_, err := io.ReadFull(p.named(theirs, c.to, nil), begin)
		got := ""
		if refused := p.refusals(); len(refused) > 0 {
			got = refused[0].Name
		}
		if got != c.refused || (err == nil) != (c.refused == "") {
			t.Errorf("%s: refused %q, %v, want %q", c.to, got, err, c.refused)
		}
		_ = ours.Close()
	}
}

func TestCounterIsBounded(t *testing.T) {
	t.Parallel()
	c := counter{}
	for i := range 2 * maxCounts {
		c.add(strings.Repeat("x", i))
	}
	if got := c.list(); len(got) > maxCounts+1 || got[0].Name != "other" {
		t.Errorf("%d names, first %v", len(got), got[0])
	}
}

// TestProfile compares the profile of macOS with a golden file; no Mac has run it.
func TestProfile(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]macLimits{
		"nothing": {},
		"all": {
			write: []string{"/private/tmp/writ-run-1", `/Volumes/code/My "work"\x`}, read: []string{"/Volumes/code/go"},
			protected: []string{"/Volumes/code/app/.git/hooks"}, proxyPort: 3128,
		},
	} {
		file := filepath.Join("testdata", "profile-"+name+".sb")
		if *update {
			if err := os.WriteFile(file, []byte(limits.profile()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if got := limits.profile(); err != nil || got != string(want) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int{
		&startError{ExitNotFound, ""}:                ExitNotFound,
		&NotHeldError{Cause: errors.New("x")}:        ExitFailure,
		errors.Join(&startError{ExitCannotRun, "x"}): ExitCannotRun,
	} {
		if got := ExitCode(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}
