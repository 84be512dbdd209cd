package shell

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// FuzzParse holds for any text: no panic, bounded work, and an answer in its
// form.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "ls -la", "r\"\"m -rf /", "a | b && c; d", "$(id) `id` <(id)", "sh -c 'sh -c \"id\"'",
		"find . -exec rm {} +",
		"cat <<E\n$(id)\nE", "for f in *.go; do sed -i 's/a/b/w x' $f; done", "X=rm; $X /", "env -S 'rm x'",
		"f() { f; }; f",
		"{a,{b,c}}{1..9999999}", "((((", "if if if", "$'\\x72\\c'", "xargs -I{} sh -c '{}'", "git -c a=b x", "sed 's/a",
		"a=(b c)",
		"python3 -c 'print(1)'", "cd a && cd - > x", "tar xzf a -C b", "ssh -oA=b c d", "[[ a =~ (b ]]",
		"echo ${x@P} ${!y} ${z:-w}",
		"\xff\x00\r", "case a in b) c;; esac", "time ! a", "parallel ::: a", "rm ~+ ~- ~/../x .*", "ssh -B", "xargs -I",
		"git -c", "env -u", "tar -C", "a <<< $b 3<>/dev/tcp/a/1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, command string) {
		checkForm(t, command, parse(command, (*scan).text)) // without the net
	})
}

// FuzzPlain holds for any plain text: it says the same wherever it stands, names only
// described programs, and has no word that a shell would expand.
func FuzzPlain(f *testing.F) {
	for _, seed := range []string{
		"ls -la", "cat a b > c", "cd a && git log -n 5 | head", "sed -n '1,5p' x", "find . -name '*.o' -delete",
		"grep -r 'a b' src", "if [ -f x ]; then cat x; fi", "cat <<'E' > f\n$(id)\nE", "LANG=C sort -o x y",
		`echo "a\$b" 'c` + "`" + `d' e\ f`, "tar czf a.tgz -C b c", "git show HEAD@{1}:x", "bash -c 'cat x'",
		"awk '{print $1}' x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, command string) {
		got := Parse(command)
		if !got.Plain() {
			return
		}
		for _, around := range []string{"%s", "(%s\n)", "{ %s\n}", "if %s\nthen :; fi", "true && { %s\n}"} {
			again := Parse(strings.Replace(around, "%s", command, 1))
			if !again.Plain() && strings.TrimSpace(command) != "" && !onlyComment(command) {
				t.Errorf("Parse(%q) is plain, but not in %q: %+v", command, around, again)
			}
			if again.Plain() && (!slices.Equal(got.Reads, again.Reads) || !slices.Equal(got.Writes, again.Writes)) {
				t.Errorf("Parse(%q) reads %q and writes %q, but in %q it is %+v", command, got.Reads, got.Writes,
					around, again)
			}
		}
		for _, name := range got.Programs {
			if p, whole := programNamed(name); (p == nil || !whole) && name != "export" {
				t.Errorf("Parse(%q) is plain and runs %q, which is not described", command, name)
			}
		}
		for _, file := range slices.Concat(got.Reads, got.Writes) {
			if file == "" || strings.ContainsAny(file, "\x00\r") {
				t.Errorf("Parse(%q) is plain and uses the file %q", command, file)
			}
		}
	})
}

// onlyComment reports whether a text has no command, which a list must have.
func onlyComment(command string) bool { return len(Parse(command).Programs) == 0 }

func checkForm(t interface {
	Helper()
	Errorf(string, ...any)
}, command string, got Command) {
	t.Helper()
	for _, name := range got.Programs {
		if name == "" || strings.Contains(name, "/") {
			t.Errorf("Parse(%.200q) runs %q", command, name)
		}
	}
	for _, list := range [][]string{got.Programs, got.Writes, got.Words} {
		if !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) {
			t.Errorf("Parse(%.200q) gives %.200q, not sorted or not unique", command, list)
		}
	}
	if (len(command) > maxBytes || !utf8.ValidString(command)) && !got.Dynamic {
		t.Errorf("Parse(%.200q) is not dynamic", command)
	}
}

// hiding are ways to run a command inside another that must all show it.
var hiding = []func(string) string{
	func(c string) string { return "true && " + c },
	func(c string) string { return "true || " + c },
	func(c string) string { return "true | " + c },
	func(c string) string { return "true\n" + c },
	func(c string) string { return "true & " + c },
	func(c string) string { return "(" + c + ")" },
	func(c string) string { return "{ " + c + "\n}" },
	func(c string) string { return "echo \"$(" + c + "\n)\"" },
	func(c string) string { return "cat <(" + c + "\n)" },
	func(c string) string { return "if " + c + "\nthen :; fi" },
	func(c string) string { return "if :; then " + c + "\nfi" },
	func(c string) string { return "for i in 1; do " + c + "\ndone" },
	func(c string) string { return "case a in a) " + c + "\n;; esac" },
	func(c string) string { return "go_on() { " + c + "\n}; go_on" },
	func(c string) string { return "sh -c " + quote(c) },
	func(c string) string { return "bash -c " + quote(c) },
	func(c string) string { return "eval " + quote(c) },
	func(c string) string { return "env A=1 sh -c " + quote(c) },
	func(c string) string { return "sudo -u x timeout 5 sh -c " + quote(c) },
	func(c string) string { return "find . -exec sh -c " + quote(c) + " \\;" },
	func(c string) string { return "echo a | xargs -n1 sh -c " + quote(c) },
	func(c string) string { return "bash <<'END_OF_IT'\n" + c + "\nEND_OF_IT" },
	func(c string) string { return "! " + c },
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Whatever a command is hidden in, it is seen, or the whole is dynamic.
func TestHiddenCommandsAreSeen(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		command := "shred ./secret"
		for range rapid.IntRange(0, 4).Draw(t, "levels") {
			command = rapid.SampledFrom(hiding).Draw(t, "way")(command)
		}
		got := Parse(command)
		if !slices.Contains(got.Programs, "shred") && !got.Dynamic {
			t.Errorf("Parse(%q) runs %q, want shred among them", command, got.Programs)
		}
		if !slices.Contains(got.Writes, "secret") && !got.Dynamic {
			t.Errorf("Parse(%q) writes %q, want secret", command, got.Writes)
		}
	})
}

// However a name is quoted, it is the same name.
func TestQuotingChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for _, letter := range "shred" {
			switch rapid.IntRange(0, 5).Draw(t, "quoting") {
			case 0:
				b.WriteRune(letter)
			case 1:
				b.WriteString("'" + string(letter) + "'")
			case 2:
				b.WriteString(`"` + string(letter) + `"`)
			case 3:
				b.WriteString(`\` + string(letter))
			case 4:
				b.WriteString(`''` + string(letter))
			case 5:
				b.WriteString(`$'` + string(letter) + `'`)
			}
		}
		if got := Parse(b.String() + " x"); !slices.Equal(got.Programs, []string{"shred"}) ||
			!slices.Equal(got.Writes, []string{"x"}) {
			t.Errorf("Parse(%s x) = %+v, want shred and x", b.String(), got)
		}
	})
}

// A command of repeated pieces must not take work out of proportion: these were
// slow, deep or large for some reader of shell before.
func TestHostileShapes(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{
		"(", ")", "()", "(()", "$(", "$((", "((a?", "`", "\\`", "\"$(", "${a:-", "{a,", "{a,b}", "{1..9}", "<<a\n",
		"<<a ", "if ", "if a; then ", "fi ",
		"while ", "case a in a) ", "a|", "a&&", "a;", "a()", "f(){ ", "[[ a && ", "a=$a$a;", "a=b ", "x=$x", "sh -c '",
		"eval ", "env ", "sudo ", "xargs ",
		"time ", "! ", "cd a;", "cd a&&", "cd {a,b};", "rm *", "$'\\x41", "{", "}", "'", "\"", "\\", "#", "&", "<(",
		">(", "=(", "@(", "~", "-e ", "sed -e ",
		"for a in $a; do ", "${a[${", "coproc ", "find -exec ", "nice ", "\n", "é", "{a..z}", "a{b,c}d{e,f}",
	} {
		command := strings.Repeat(piece, maxBytes/4/len(piece))
		checkForm(t, command, parse(command, (*scan).text))
	}
}

// Variables that are made of variables double with each line.
func TestVariablesOfVariables(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("a0=xx\n")
	for i := 1; i < 200; i++ {
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll("aN=$aP$aP$aP\n", "N",
			string(rune('0'+i%10))+strings.Repeat("_", i/10)), "P",
			string(rune('0'+(i-1)%10))+strings.Repeat("_", (i-1)/10)))
	}
	b.WriteString("for x in 1 2 3 4 5 6 7 8 9; do y=$x$x; z=$y$y$y; rm $z$z$y$x$a9; done")
	checkForm(t, b.String(), Parse(b.String()))
}
