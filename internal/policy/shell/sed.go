package shell

import (
	"regexp"
	"strings"
)

// The parts of a sed script. Between delimiters a backslash takes the next sign with it.
var (
	sedSubstitute = sedBetween(`s`, `/|,#:@%!_`)
	sedAddress    = `(?:\d+|\$|/[^/\\\[\n;]*/)`
	sedCommand    = `\s*(?:` + sedAddress + `(?:,\+?` + sedAddress + `)?[! ]*)?(?:[pdq=]|` + sedSubstitute +
		`[giIp0-9]*)\s*`

	sedAnyAddress = `(?:\d+(?:~\d+)?|\$|/(?:[^/\\\n]|\\.)*/[IM]*)`
	sedAddresses  = sedAnyAddress + `(?:\s*,\s*(?:[+~]\d+|` + sedAnyAddress + `))?[!\s]*`
	sedAnyCommand = `(?:[pdqPDQgGhHnNxlFz=][0-9 ]*|` + sedSubstitute + `[gpiImM0-9]*|` + sedBetween(`y`, `/|,`) +
		`|[aic#](?:[^\n\\]|\\.|\\\n)*|[:btT]\s*[\w-]*)`
)

var (
	// sedPlain is one or more of: an address and p, d, q or =; and s with the flags g, i, I, p
	// and a number.
	sedPlain = regexp.MustCompile(`^` + sedCommand + `(?:[;\n]` + sedCommand + `)*$`)
	// sedHarmless has all commands that neither run nor write or read anything.
	sedHarmless = regexp.MustCompile(`^(?:[\s;{}]|` + sedAddresses + `\{|(?:` + sedAddresses + `)?` + sedAnyCommand +
		`[ \t]*(?:[;}\n]|$))*$`)
	sedBracket = regexp.MustCompile(`\[\^?\]?[^\]]*\]`)
)

// sedBetween is a command with three delimiters of some.
func sedBetween(command, delimiters string) string {
	var ways []string
	for _, d := range delimiters {
		q := regexp.QuoteMeta(string(d))
		ways = append(ways, strings.Repeat(q+`(?:[^`+q+`\\\n;]|\\[^\n;])*`, 2)+q)
	}
	return command + `(?:` + strings.Join(ways, `|`) + `)`
}

// sedScript reads a script of sed. Versions of it differ about a delimiter in brackets, so
// that a plain script with one is a single command, and others must be harmless in both
// readings. What is not known of a script may be anything but a command.
func (s *scan) sedScript(script arg) {
	for _, text := range script.alternatives {
		single := !strings.ContainsAny(text, ";\n")
		if script.exact && sedPlain.MatchString(text) && (single || !strings.Contains(text, "[")) {
			continue
		}
		s.opaque = true
		bare := sedBracket.ReplaceAllString(text, "x")
		if script.exact && sedHarmless.MatchString(text) && sedHarmless.MatchString(bare) {
			continue
		}
		s.dynamic = true
		s.sedFiles(text)
	}
}

// sedFiles records every file that w or r may name in a script: to the end of the line, as sed reads it, and to where
// another command may begin.
func (s *scan) sedFiles(script string) {
	for i := range len(script) {
		use := s.write
		switch c := script[i]; {
		case c == 'r' || c == 'R':
			use = s.read
		case c != 'w' && c != 'W':
			continue
		}
		if i > 0 && strings.IndexByte("abcdefhjklmnoqrstuvwxyz", script[i-1]|0x20) >= 0 {
			continue // within a word; g, p and i may be flags of s
		}
		line, _, _ := strings.Cut(script[i+1:], "\n")
		file := strings.Trim(line, " \t")
		if file == "" {
			continue
		}
		use(s.lit(file))
		if end := strings.IndexAny(file, ";}"); end > 0 {
			use(s.lit(strings.TrimRight(file[:end], " \t")))
		}
	}
}
