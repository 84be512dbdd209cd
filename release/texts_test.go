package main

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestShippedLinks checks that every link of a page leads to something that is given away with the page.
func TestShippedLinks(t *testing.T) {
	texts := textsOf(t, "..")
	count, dead := deadLinks(t, texts)
	for _, link := range dead {
		t.Error(link)
	}
	if count < 200 {
		t.Errorf("%d links: are the pages read as they are written?", count)
	}
	without := slices.DeleteFunc(slices.Clone(texts), func(f file) bool { return f.name == "docs/install.md" })
	if _, dead := deadLinks(t, without); len(dead) == 0 {
		t.Error("a page that is missing is not missed, so that this test shows nothing")
	}
}

var (
	pageLink = regexp.MustCompile(`\]\(([^)\s#]+)(#[^)\s]*)?\)`)
	codeText = regexp.MustCompile("(?s)```.*?\n```|`[^`\n]*`")
)

// deadLinks counts the links of pages to other files, and tells those that lead to nothing.
func deadLinks(t *testing.T, texts []file) (count int, dead []string) {
	t.Helper()
	there := map[string]bool{}
	for _, f := range texts {
		for at := f.name; at != "."; at = path.Dir(at) {
			there[at] = true
		}
	}
	for _, f := range texts {
		if !strings.HasSuffix(f.name, ".md") {
			continue
		}
		prose := codeText.ReplaceAllString(string(read(t, f.from)), "")
		for _, link := range pageLink.FindAllStringSubmatch(prose, -1) {
			if strings.Contains(link[1], ":") {
				continue
			}
			count++
			if to := path.Join(path.Dir(f.name), link[1]); !there[to] {
				dead = append(dead, f.name+" leads to "+to+", which is not in the archive")
			}
		}
	}
	return count, dead
}

// TestPackagesHaveTheTexts checks that packages have what archives have, and examples where the pages say.
func TestPackagesHaveTheTexts(t *testing.T) {
	r := release{source: absolute(t, ".."), work: t.TempDir()}
	contents, err := r.textContents()
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	for _, c := range contents {
		places = append(places, c.Destination)
	}
	for _, name := range []string{
		"README.md", "go.mod", "docs/install.md", "docs/pictures/overview-light.png", "examples/payments.yaml",
		"examples/rent.yaml", "examples/go/main.go", "client/client.go", "deploy/chart/values.schema.json",
		"deploy/chart/.helmignore", "clients/python/pyproject.toml", "clients/typescript/src/index.ts",
	} {
		if !slices.Contains(places, "/usr/share/doc/writ/"+name) {
			t.Errorf("the packages do not have %s", name)
		}
	}
}

// TestNothingBuiltIsShipped checks that only sources are given away, whatever was built or run among them.
func TestNothingBuiltIsShipped(t *testing.T) {
	source := t.TempDir()
	for _, name := range append([]string{
		"examples/javascript/src/agent.ts", "examples/javascript/node_modules/zod/index.js",
		"examples/javascript/out/agent.js", "examples/python/.venv/bin/python",
		"examples/python/__pycache__/agent.pyc", "examples/python/agent.txt",
		"clients/typescript/dist/index.js", "clients/typescript/test/guard.test.mjs",
		"clients/python/tests/test_guard.py",
		"client/client.go", "client/client_test.go", "docs/a", "deploy/a", "actions/a", "testdata/enforcement/a",
		"test/evidence/verify.mjs", "deploy/secrets/master.key", "deploy/kubernetes/secret.yaml",
	}, documents...) {
		if err := os.MkdirAll(filepath.Join(source, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(source, name), "text")
	}
	write(t, filepath.Join(source, "go.mod"), "module writ\n\ngo 1.26.0\n\nrequire example.org/x v1.0.0\n")
	var names []string
	for _, f := range textsOf(t, source) {
		names = append(names, f.name)
		if f.name == moduleName && string(read(t, f.from)) != "module writ\ngo 1.26.0\n" {
			t.Errorf("go.mod is %q", read(t, f.from))
		}
	}
	want := append([]string{
		"examples/javascript/src/agent.ts", "client/client.go", "docs/a", "deploy/a", "actions/a",
		"testdata/enforcement/a", "test/evidence/verify.mjs", moduleName,
	}, documents...)
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("given away are %v, want %v", names, want)
	}
}

// TestOnlyWhatTheRepositoryHasIsShipped: keys that somebody left beside the pages are not, whatever their names.
func TestOnlyWhatTheRepositoryHasIsShipped(t *testing.T) {
	source := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", source}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	git("init", "-q")
	for _, folder := range folders {
		if err := os.MkdirAll(filepath.Join(source, folder), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(source, folder, "page"), "text")
	}
	write(t, filepath.Join(source, "go.mod"), "module writ\n")
	git("add", ".")
	write(t, filepath.Join(source, "deploy", "my.key"), "secret")
	texts := textsOf(t, source)
	if slices.ContainsFunc(texts, func(f file) bool { return f.name == "deploy/my.key" }) {
		t.Error("a file that the repository does not have is given away")
	}
	if !slices.ContainsFunc(texts, func(f file) bool { return f.name == "deploy/page" }) {
		t.Error("a file that the repository has is not given away")
	}
	if err := os.Symlink(filepath.Join(source, "deploy", "my.key"), filepath.Join(source, "docs", "link")); err != nil {
		t.Fatal(err)
	}
	git("add", "docs/link")
	r := release{source: absolute(t, source), work: t.TempDir()}
	if _, err := r.texts(); err == nil {
		t.Error("a link to a file elsewhere is given away")
	}
}

func textsOf(t *testing.T, source string) []file {
	t.Helper()
	r := release{source: absolute(t, source), work: t.TempDir()}
	texts, err := r.texts()
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

func absolute(t *testing.T, name string) string {
	t.Helper()
	at, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return at
}
