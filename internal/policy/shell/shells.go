package shell

import "strings"

// shells have the language that we read; otherShells have their own.
var (
	shells      = names("sh bash dash ash zsh ksh ksh93 mksh pdksh rbash yash posh")
	otherShells = names("fish csh tcsh rc es nu elvish xonsh pwsh powershell cmd")
)

// shellTakesText are the options before text with which a shell is plain.
var shellTakesText = names("-c -ec -uc -euc")

// shellCall reads a shell: the text after -c, a script, or its input.
func shellCall(s *scan, p *program, args []arg) {
	if len(args) != 3 || !shellTakesText[args[1].text()] {
		s.scripts.add(p.name)
	}
	given := s.input
	i, fromInput := 1, false
	for ; i < len(args); i++ {
		text := args[i].text()
		if !args[i].exact || args[i].glob {
			s.dynamic = true
			return
		}
		if len(text) < 2 || text[0] != '-' && text[0] != '+' || text == "--" {
			break
		}
		if strings.HasPrefix(text, "--") {
			s.shellOption(text)
			if text == "--version" || text == "--help" {
				return
			}
			if text == "--rcfile" || text == "--init-file" {
				i++
			}
			continue
		}
		if strings.Contains(text, "c") && strings.ContainsAny(text, "oO") { // the text is not the next argument
			s.dynamic = true
			s.inner(args[i+1:])
			return
		}
		if strings.Contains(text, "c") {
			s.shellText(args[i+1:])
			return
		}
		fromInput = fromInput || strings.Contains(text, "s")
		if strings.ContainsAny(text, "oO") {
			i++
		}
		if strings.Contains(text, "i") || strings.Contains(text, "l") { // reads the user's startup files
			s.dynamic = true
		}
	}
	if i < len(args) && (args[i].text() == "--" || args[i].text() == "-") {
		i++
	}
	if i < len(args) && !fromInput {
		s.script(args[i])
		return
	}
	s.stdin(given)
}

func (s *scan) shellOption(text string) {
	if strings.HasPrefix(text, "--rcfile") || strings.HasPrefix(text, "--init-file") || text == "--login" {
		s.dynamic = true
	}
}

// shellText reads sh -c, where more options may come before the text.
func (s *scan) shellText(rest []arg) {
	for len(rest) > 0 && strings.HasPrefix(rest[0].text(), "-") && len(rest[0].text()) > 1 {
		if rest[0].text() == "-o" || rest[0].text() == "-O" || !rest[0].exact {
			s.dynamic = true
		}
		rest = rest[1:]
	}
	if len(rest) == 0 {
		s.dynamic = true
		return
	}
	s.inner(rest[:1])
}

func (s *scan) stdin(given input) {
	if !given.known {
		s.dynamic = true
		return
	}
	s.subshell(func() { s.text(given.text) })
}

// otherShell reads shells with another language, whose text we do not read.
func otherShell(s *scan, _ *program, args []arg) {
	if len(args) < 2 || strings.HasPrefix(args[1].text(), "-") || strings.HasPrefix(args[1].text(), "/") {
		if len(args) == 2 && args[1].text() == "--version" {
			return
		}
		s.dynamic = true
		for _, a := range args[1:] {
			if strings.ContainsAny(a.text(), " \t\n") {
				s.tolerant(a.text())
			}
		}
		return
	}
	s.script(args[1])
}
