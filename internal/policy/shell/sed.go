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
	sedFile    = regexp.MustCompile(`(?m)(?:^|[\W0-9gpiI])([wWrR])[ \t]*(\S[^\n}]*)$`)
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
		for _, found := range sedFile.FindAllStringSubmatch(text, -1) {
			if file := literal(found[2]); found[1] == "w" || found[1] == "W" {
				s.write(file)
			} else {
				s.read(file)
			}
		}
	}
}
