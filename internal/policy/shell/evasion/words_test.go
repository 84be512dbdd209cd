package evasion

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// A speller writes a word so that Bash reads raw again. Before is a command that must
// run first; ok is false where the way does not fit the word.
type speller struct {
	name  string
	spell func(r *rand.Rand, raw string) (before, word string, ok bool)
}

var safe = regexp.MustCompile(`^[A-Za-z0-9_./,:+=-]+$`)

func single(raw string) string { return "'" + strings.ReplaceAll(raw, "'", `'\''`) + "'" }

func double(raw string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(raw) + `"`
}

func plain(raw string) string {
	if safe.MatchString(raw) {
		return raw
	}
	return single(raw)
}

// ansi writes $'…' with some or all bytes as escapes.
func ansi(r *rand.Rand, raw string) string {
	var b strings.Builder
	form := []string{`\x%02x`, `\%03o`, `\u%04x`}[r.IntN(3)]
	all := r.IntN(2) == 0
	for _, c := range []byte(raw) {
		switch {
		case c == '\'' || c == '\\' || c == '\n' || all && c < 0x80 || r.IntN(4) == 0 && c < 0x80:
			fmt.Fprintf(&b, form, c)
		default:
			b.WriteByte(c)
		}
	}
	return "$'" + b.String() + "'"
}

func backslashed(r *rand.Rand, raw string) (string, bool) {
	if strings.Contains(raw, "\n") || raw == "" {
		return "", false
	}
	var b strings.Builder
	for _, c := range raw {
		if !safe.MatchString(string(c)) || r.IntN(3) == 0 {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String(), true
}

// broken cuts the word into pieces and quotes each in its own way.
func broken(r *rand.Rand, raw string) string {
	var b strings.Builder
	for raw != "" {
		n := 1 + r.IntN(min(len(raw), 6))
		piece := raw[:n]
		raw = raw[n:]
		b.WriteString([]func() string{
			func() string { return single(piece) },
			func() string { return double(piece) },
			func() string { return ansi(r, piece) },
			func() string { return plain(piece) },
			func() string { return plain(piece) + `""` },
		}[r.IntN(5)]())
	}
	return b.String()
}

// quotings need nothing but the word itself.
var quotings = []speller{
	{"single", func(_ *rand.Rand, raw string) (string, string, bool) { return "", single(raw), true }},
	{"double", func(_ *rand.Rand, raw string) (string, string, bool) {
		return "", double(raw), !strings.Contains(raw, "!")
	}},
	{"ansi", func(r *rand.Rand, raw string) (string, string, bool) { return "", ansi(r, raw), isASCII(raw) }},
	{"backslash", func(r *rand.Rand, raw string) (string, string, bool) {
		word, ok := backslashed(r, raw)
		return "", word, ok
	}},
	{"broken", func(r *rand.Rand, raw string) (string, string, bool) { return "", broken(r, raw), isASCII(raw) }},
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c > 126 })
}

// expansions make the word from something else. Most fit only words without spaces.
var expansions = []speller{
	variable("variable", "v=%s", "$v", `"$v"`, "${v}", `"${v:0}"`, "${v%zzz}", "${v/@/}", "${v:-x}", "${v@E}", "$v$n"),
	variable("indirect", "w=%s v=w", "${!v}", `"${!v}"`),
	variable("nameref", "w=%s; declare -n v=w", "$v"),
	variable("positional", "set -- %s", "$1", `"$@"`, "$*", "${1}", "${@:1}"),
	variable("array", "a=(%s)", "${a[0]}", `"${a[@]}"`, "${a[1-1]}", "$a", "${a[-1]}"),
	variable("map", "declare -A m=([k]=%s)", "${m[k]}", `"${m[@]}"`),
	variable("read", "read -r v <<< %s", "$v", `"$v"`),
	variable("mapfile", "mapfile -t a <<< %s", "${a[0]}"),
	variable("printf", "printf -v v %%s %s", "$v"),
	variable("default", "unset u", "${u:-%s}", "${u:=%s}", "${u-%s}"),
	variable("alternative", "u=1", "${u:+%s}", "${u+%s}"),
	variable("substitution", "", "$(echo %s)", "`echo %s`", "$(printf %%s %s)", `"$(echo %s)"`, "$(echo %s | cat)"),
	variable("underscore", ": %s", "$_"),
	variable("match", "[[ %s =~ .+ ]]", "${BASH_REMATCH[0]}"),
	variable("getopts", "OPTIND=1; getopts v: x -v %s", "$OPTARG"),
	variable("brace", "", "{%s,}", "{,%s}"),
	variable("loop variable", "for v in %s; do :; done", "$v"),
	variable("export", "export v=%s", "$v"),
	variable("declare", "declare v=%s", "$v"),
	variable("readonly", "readonly rv=%s", "$rv"),
	variable("function", "f() { v=%s; }; f", "$v"),
	variable("eval", "eval v=%s", "$v"),
	variable("let", "let n=0; v=%s", "$v"),
	variable("arithmetic", "n=1; a=(x %s)", "${a[n]}", "${a[$((n))]}", "${a[n*1]}"),
	{"range", func(r *rand.Rand, raw string) (string, string, bool) {
		i := r.IntN(max(len(raw), 1))
		if !safe.MatchString(raw) || raw[i] < 'a' || raw[i] > 'z' {
			return "", "", false
		}
		return "", raw[:i] + "{" + raw[i:i+1] + ".." + raw[i:i+1] + "}" + raw[i+1:], true
	}},
	{"slices", func(r *rand.Rand, raw string) (string, string, bool) {
		n := r.IntN(max(len(raw), 1))
		return "v=" + plain(raw), fmt.Sprintf("${v:0:%d}${v:%d}", n, n), safe.MatchString(raw)
	}},
	{"case", func(_ *rand.Rand, raw string) (string, string, bool) {
		return "v=" + plain(strings.ToUpper(raw)), "${v,,}", safe.MatchString(raw) && strings.ToLower(raw) == raw
	}},
	{"reversed", func(_ *rand.Rand, raw string) (string, string, bool) {
		letters := []byte(raw)
		slices.Reverse(letters)
		return "", "$(rev <<< " + plain(string(letters)) + ")", safe.MatchString(raw)
	}},
	{"base64", func(_ *rand.Rand, raw string) (string, string, bool) {
		return "", "$(base64 -d <<< " + base64.StdEncoding.EncodeToString([]byte(raw)) + ")", safe.MatchString(raw)
	}},
	{"split", func(_ *rand.Rand, raw string) (string, string, bool) {
		return "v=x@" + plain(raw) + "; IFS=@ read -r u w <<< $v", "$w", safe.MatchString(raw)
	}},
	{"glob", glob},
}

// variable is a way that puts the plain word into a command before, or into the word.
func variable(name, before string, words ...string) speller {
	return speller{name, func(r *rand.Rand, raw string) (string, string, bool) {
		fill := func(form string) string {
			if strings.Contains(form, "%") {
				return fmt.Sprintf(form, plain(raw))
			}
			return form
		}
		return fill(before), fill(words[r.IntN(len(words))]), safe.MatchString(raw) && !strings.Contains(raw, ",")
	}}
}

// glob makes a pattern of one letter of a path.
func glob(r *rand.Rand, raw string) (string, string, bool) {
	i := r.IntN(max(len(raw), 1))
	if !safe.MatchString(raw) || !strings.Contains(raw, "/") || raw[i] == '/' || raw[i] == '.' {
		return "", "", false
	}
	pattern := []string{"?", "[" + raw[i:i+1] + "]", "*", "[!-]", "[[:alpha:]]"}[r.IntN(5)]
	return "", raw[:i] + pattern + raw[i+1:], true
}

// spell writes a word: mostly plainly, since that is what is judged plain.
func spell(r *rand.Rand, mood mood, raw string) (before, word, name string) {
	var from []speller
	switch n := r.IntN(100); {
	case n < mood.quotes:
		from = quotings
	case n < mood.quotes+mood.expands:
		from = expansions
	default:
		return "", plain(raw), ""
	}
	s := from[r.IntN(len(from))]
	if before, word, ok := s.spell(r, raw); ok {
		return before, word, s.name
	}
	return "", plain(raw), ""
}

// mood is how often, in percent, words are quoted or expanded.
type mood struct{ quotes, expands int }
