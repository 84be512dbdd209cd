package expression_test

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"writ/internal/policy/expression"
	"writ/internal/toolcall"
)

func TestPathsWithinFolders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, dir, want string }{
		{"/repo", "/repo", holds},
		{"/repo/", "/repo", holds},
		{"/repo/a", "/repo", holds},
		{"/repo/a", "/repo/", holds},
		{"/repo//a/./b", "/repo/a", holds},
		{"/repo/a/..", "/repo", holds},
		{"/workshop/a", "/repo", not},
		{"/repo/../etc/passwd", "/repo", not},
		{"/repo/a/../../etc", "/repo", not},
		{"/../../etc/passwd", "/etc", holds},
		{"//etc/passwd", "/etc", holds},
		{"/etc", "/", holds},
		{"/Work/a", "/repo", not},
		{"a/b", ".", holds},
		{".", ".", holds},
		{"./a", "a", holds},
		{"a/../../b", ".", not},
		{"..", ".", not},
		{"..a", ".", holds},
		{"../x", "..", holds},
		{"../../x", "..", not},
		{"../x/y", "../x", holds},
		{"a", "b", not},
		{"a/b", "/repo", not},

		// Where the agent runs would decide.
		{"/repo/.git/hooks", ".git", "absolute and the folder relative"},
		{"/repo", ".", "absolute and the folder relative"},
		{"../../etc/passwd", "/etc", "leaves its start"},
		{"a", "../x", "above where the path starts"},

		// What others read differently.
		{"", "/repo", "empty"},
		{"/repo/a\x00/../../etc", "/repo", "NUL"},
		{"~/x", "/home", "begins with ~"},
		{"~root/x", "/root", "begins with ~"},
		{"/repo/$HOME/x", "/repo", "environment"},
		{"/repo/${X}", "/repo", "environment"},
		{"/repo/$(id)", "/repo", "environment"},
		{"/repo/`id`", "/repo", "environment"},
		{"/repo/%TEMP%/x", "/repo", "environment"},
		{"/repo/GIT~1/config", "/repo/.git", "Windows"},
		{"GIT~12/hooks", ".git", "Windows"},
		{"HEAD~1", ".", holds},
		{"origin/main~10", ".", holds},
		{"main..", ".", holds},
		{"/repo/SETTIN~1.JSO", "/repo", "Windows"},
		{"/repo/.git./config", "/repo/.git", "Windows"},
		{"/repo/.git /config", "/repo/.git", "Windows"},
		{"/repo/a.~1~", "/repo", holds},
		{"/repo/longer-name~1", "/repo", holds},
		{"/repo/.../x", "/repo", holds},
		{"/repo/100%", "/repo", holds},
		{"/repo/50% of 100%", "/repo", holds},
		{`/repo/..\..\etc`, "/repo", "backslash"},
		{"C:/Windows", ".", "drive letter"},
		{"file:///etc/passwd", ".", "is a URL"},
		{"FILE:/etc/passwd", ".", "is a URL"},
		{"file:etc/passwd", ".", "is a URL"},
		{"sftp://host/x", ".", "is a URL"},
		{"a/b:/c", ".", holds},
		{" /etc/passwd", ".", "begins or ends with a space"},
		{"\u00a0/etc/passwd", ".", "begins or ends with a space"},
		{"\t/etc/passwd", ".", "begins or ends with a space"},
		{"/repo/secret ", "/repo", "begins or ends with a space"},
		{"/repo/a b", "/repo", holds},
		{"/repo/a:b", "/repo", holds},
		{"/repo/ünï/日本", "/repo", holds},
	} {
		t.Run(c.path+" in "+c.dir, func(t *testing.T) {
			t.Parallel()
			call := &toolcall.Call{Args: map[string]any{"p": c.path}}
			wantResult(t, `path(args.p).within("`+c.dir+`")`, call, c.want)
		})
	}
}

func TestResolvedPathsCount(t *testing.T) {
	t.Parallel()
	call := &toolcall.Call{
		Args: map[string]any{"link": "/repo/link", "home": "~/x", "odd": "/repo/$5", "bad": "/repo/y"},
		ResolvedPaths: map[string]string{
			"/repo/link": "/etc/passwd", "~/x": "/home/ann/x", "/repo/$5": "/repo/$5", "/repo/y": "",
		},
	}
	wantResult(t, `path(args.link).within("/repo")`, call, not)
	wantResult(t, `path(args.link).within("/etc") && path(args.link).base == "passwd"`, call, holds)
	wantResult(t, `path(args.home).within("/home/ann")`, call, holds)
	wantResult(t, `path(args.odd).within("/repo")`, call, holds)
	wantResult(t, `path(args.bad).within("/repo")`, call, "empty")
}

func TestOneOfSeveralFolders(t *testing.T) {
	t.Parallel()
	call := &toolcall.Call{Args: map[string]any{"p": "/tmp/x"}}
	wantResult(t, `path(args.p).within(["src", "/tmp"])`, call, holds)
	wantResult(t, `path(args.p).within(["src", "/var"])`, call, "absolute and the folder relative")
	wantResult(t, `path(args.p).within([])`, call, not)
}

// TestWithinIsByComponents holds within() against the plain reading: walk up
// from the path until the folder is met.
func TestWithinIsByComponents(t *testing.T) {
	t.Parallel()
	condition := mustCompile(t, `path(args.p).within("/a/b")`)
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "bb", "..", ".", "", "c"})).Draw(t, "parts")
		text := "/" + strings.Join(parts, "/")
		want := false
		for at := path.Clean(text); at != "/"; at = path.Dir(at) {
			want = want || at == "/a/b"
		}
		got, err := condition.Eval(&toolcall.Call{Args: map[string]any{"p": text}})
		if err != nil || got != want {
			t.Fatalf("%s is within /a/b: %v, %v; want %v", text, got, err, want)
		}
	})
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{
		"/repo/a", "../x", "~", "/repo/../repo/x", "a\x00", `\\host\share`, "$A", "%A%", "C:", "/..",
		strings.Repeat("../", 50),
	} {
		f.Add(seed)
	}
	condition, problem := expression.Compile(`path(args.p).within("/repo") && !path(args.p).dir.startsWith("/repo") && path(args.p).base != "repo"`)
	if problem != nil {
		f.Fatal(problem)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got, _ := condition.Eval(&toolcall.Call{Args: map[string]any{"p": text}}); got {
			t.Errorf("%q is within /repo and its folder is not", text)
		}
	})
}
