package shell

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestPlain: a plain command says all that it reads and writes.
func TestPlain(t *testing.T) {
	t.Parallel()
	tests := []struct{ command, reads, writes string }{
		{"ls -la", "", ""},
		{"cat a b", "a b", ""},
		{"cat < in > out 2>&1", "in", "out"},
		{"cd src && cat a > b", "src src/a", "src/b"},
		{"cd src; cat a", "a src src/a", ""},
		{"cat ~/x", "~/x", ""},
		{"LANG=C sort -o x y | uniq -c", "y", "x"},
		{"uniq a b", "a", "b"},
		{"env - rm -rf ~", "", "~"},
		{"timeout 5 nice -n 3 tee a b", "", "a b"},
		{"bash -c 'cat x > y'", "x", "y"},
		{"if [ -f x ]; then cat y; else rm z; fi", "x y", "z"},
		{"cp a b", "a", "b b/a"},
		{"cp -r a b", "a a/**", "b b/a"},
		{"cp -rt d a", "a a/**", "d d/a"},
		{"mv a b", "", "a b b/a"},
		{"mv a /dev/null", "", "/dev/null /dev/null/a a"},
		{"grep -r '' .", "** .", ""},
		{"grep -rn x", "** .", ""},
		{"cd; find", "~", ""},
		{"cd; du", "~", ""},
		{"grep -d recurse x .", "** .", ""},
		{"grep --directories=recurse x .", "** .", ""},
		{"grep -e x f", "f", ""},
		{"rg x src", "src src/**", ""},
		{"diff a b", "a a/** b b/**", ""},
		{"sed -n '1,20p' a", "a", ""},
		{"sed -i -e 's/[a-z]*/b/g' a", "", "a"},
		{"sed '/x/d;2q' a", "a", ""},
		{`awk -F: '$3 == 1 {print $1, "x"}' a`, "a", ""},
		{"jq .a.b x.json", "x.json", ""},
		{"find src -name '*.go' -exec grep -l x {} +", "src src/**/*.go", ""},
		{"find . -name a -exec rm {} \\;", ".", "**/a"},
		{"find . -exec rm {} \\; -name a", ".", "**"},
		{"tar -czf a.tgz -C sub b", "b b/** sub/b sub/b/**", "a.tgz"},
		{"tar tzf a.tgz", "a.tgz", ""},
		{"git status --short", ".git/**", ""},
		{"git show HEAD:.env", ".env .git/** HEAD:.env", ""},
		{"git log -L 1,5:.env", ".env .git/** 1,5:.env", ""},
		{"git diff -U --output=x HEAD", ".git/** HEAD", "x"},
		{"git add a", ".git/** a a/**", ".git/**"},
		{"find . -name a -delete -o -name b -delete", ".", "**"},
		{"env cd a && cat b", "a b", ""},
		{"TZ=America/New_York date", "", ""},
		{"echo HEAD@{1} '$(id)' \\$x", "", ""},
		{"cat <<'E' > f\n$(id)\nE", "", "f"},
		{"export CI=1 && NO_COLOR=1 ls", "", ""},
		{"/bin/cat x", "x", ""},
		{"set -euo pipefail; ls", "", ""},
	}
	for _, tt := range tests {
		got := Parse(tt.command)
		if reads := strings.Join(got.Reads, " "); !got.Plain() || reads != tt.reads {
			t.Errorf("Parse(%q) reads %q, want %q; plain %t of %+v", tt.command, reads, tt.reads, got.Plain(), got)
		}
		if writes := strings.Join(got.Writes, " "); writes != tt.writes {
			t.Errorf("Parse(%q) writes %q, want %q", tt.command, writes, tt.writes)
		}
	}
}

// TestNotPlain: whatever is in doubt is said to be.
func TestNotPlain(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/not-plain.txt")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		doubt, command, ok := strings.Cut(line, " ")
		if !ok || strings.Trim(doubt, "douswr-") != "" {
			t.Fatalf("%q: expected letters of d, o, u and s, and a command", line)
		}
		count++
		checkDoubt(t, doubt, strings.ReplaceAll(command, `\n`, "\n"))
	}
	if count < 150 {
		t.Errorf("%d commands, want 150 or more", count)
	}
}

// checkDoubt: d is dynamic, o opaque, u unknown and s scripts.
func checkDoubt(t *testing.T, doubt, command string) {
	t.Helper()
	got := Parse(command)
	if got.Plain() {
		t.Errorf("Parse(%q) is plain: %+v", command, got)
	}
	has := map[rune]bool{'d': got.Dynamic, 'o': got.Opaque, 'u': len(got.Unknown) > 0, 's': len(got.Scripts) > 0}
	for _, letter := range doubt {
		if !has[letter] {
			t.Errorf("Parse(%q) has no doubt %c: %+v", command, letter, got)
		}
	}
}

// TestDoubtNamesWhatItIsAbout: unknown programs and options are named.
func TestDoubtNamesWhatItIsAbout(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"frob x":                "frob",
		"cat --frob x":          "cat --frob",
		"cat --num x":           "cat --num", // an abbreviation, which may become ambiguous
		"ls -la -@":             "ls -@",
		"git frob":              "git frob",
		"git status --frob=x":   "git status --frob",
		"FOO=1 ls":              "FOO=",
		"env FOO=1 ls":          "FOO=",
		"/opt/x/ls":             "/opt/x/ls",
		"sqlite3 x 'select 1'":  "sqlite3",
		"pwd x":                 "pwd x",
		"python3 x.py":          "python3",
		"git fetch https://a/b": "git fetch https://a/b",
	} {
		if got := Parse(command).Unknown; !slices.Equal(got, []string{want}) {
			t.Errorf("Parse(%q) does not know %q, want %q", command, got, want)
		}
	}
	for command, want := range map[string]string{
		"make test": "make", "npm run x": "npm", "go test ./...": "go test", "./build.sh": "./build.sh",
		"python app.py": "python", "git commit -m x": "git commit", "cargo build": "cargo", "sh x.sh": "sh",
	} {
		if got := Parse(command); !slices.Equal(got.Scripts, []string{want}) || got.Dynamic || len(got.Unknown) > 0 {
			t.Errorf("Parse(%q) runs scripts %q, want %q; dynamic %t, unknown %q", command, got.Scripts, want,
				got.Dynamic, got.Unknown)
		}
	}
}
