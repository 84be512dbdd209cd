package shell

import "strings"

// shells have the language that we read; otherShells have their own.
var (
	shells      = names("sh bash dash ash zsh ksh ksh93 mksh pdksh rbash yash posh")
	otherShells = names("fish csh tcsh rc es nu elvish xonsh pwsh powershell cmd")
)

// shellCall reads a shell: the text after -c, a script, or its input.
func shellCall(s *scan, args []arg) {
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

// script reads the file that a shell or an interpreter runs.
func (s *scan) script(file arg) {
	text := file.text()
	if !file.plain() || file.process || strings.HasPrefix(text, "/dev/") || strings.HasPrefix(text, "/proc/") ||
		text == "-" {
		s.dynamic = true
	}
	for _, name := range file.alternatives {
		s.run(name)
	}
}

// otherShell reads shells with another language, whose text we do not read.
func otherShell(s *scan, args []arg) {
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

type interpreter struct {
	inline   string // letters of options that hold code
	long     string // names of options that hold code
	takes    string // letters of options with another value
	modules  string // letters of options that name what to run instead of a file
	subs     string // first words that take code or start a prompt
	commands string // first words with which the program does its own work
	works    string // names of options with which it does its own work
	asks     string // letters with which it only prints its version
}

var interpreters = map[string]interpreter{
	"python":  {inline: "ci", takes: "WXQ", modules: "m"},
	"pypy":    {inline: "ci", takes: "WX", modules: "m"},
	"ipython": {inline: "ci", modules: "m"},
	"perl":    {inline: "eEpnd", takes: "I", asks: "v"},
	"raku":    {inline: "enp"},
	"ruby":    {inline: "enpr", takes: "IEK"},
	"irb":     {inline: "r"},
	"node": {
		inline: "epir",
		long:   "eval print interactive require import loader",
		takes:  "C",
		works:  "test check run",
		asks:   "v",
	},
	"nodejs": {inline: "epir", long: "eval print interactive require import loader", takes: "C"},
	"bun": {
		inline:   "ep",
		long:     "eval print preload",
		subs:     "exec repl",
		commands: "run test install add remove update build x create init pm link unlink outdated upgrade i",
	},
	"deno": {
		subs: "eval repl", commands: "run test fmt lint check cache task bench compile install info doc upgrade add",
	},
	"tsx":       {inline: "ep", long: "eval print"},
	"ts-node":   {inline: "ep", long: "eval print", takes: "P"},
	"php":       {inline: "rBRFEa", takes: "cdfSt", asks: "vmi"},
	"lua":       {inline: "eil"},
	"luajit":    {inline: "eil"},
	"tclsh":     {},
	"wish":      {},
	"expect":    {inline: "ci"},
	"osascript": {inline: "ei"},
	"rscript":   {inline: "e", long: "eval"},
	"r":         {inline: "e", takes: "f"},
	"julia":     {inline: "eEiL", long: "eval print load"},
	"groovy":    {inline: "e"},
	"scala":     {inline: "e"},
	"clojure":   {inline: "e"},
	"bb":        {inline: "e"},
	"elixir":    {inline: "er", long: "eval rpc-eval"},
	"erl":       {inline: "e", long: "eval"},
	"swipl":     {inline: "gt"},
	"guile":     {inline: "ce"},
	"racket":    {inline: "e"},
	"sbcl":      {long: "eval load"},
	"ghc":       {inline: "e"},
	"runghc":    {},
	"jshell":    {},
	"jjs":       {},
	"gdb":       {inline: "x", long: "ex eval-command command init-command"},
	"lldb":      {inline: "osOS", long: "one-line source batch"},
}

// read finds the script that an interpreter runs. Anything else is code that we do not
// read: inline, or from the input.
func (in interpreter) read(s *scan, args []arg) {
	for i := 1; i < len(args); i++ {
		text := args[i].text()
		switch {
		case !args[i].exact || len(args[i].alternatives) > 1:
			s.dynamic = true
			return
		case asksVersion(text) ||
			len(text) == 2 && text[0] == '-' && strings.Contains(in.asks, text[1:]) && in.asks != "":
			return
		case strings.HasPrefix(text, "--") && names(in.works)[text[2:]]:
			return
		case strings.HasPrefix(text, "--") && len(text) > 2:
			if in.longCode(text) {
				s.dynamic = true
				return
			}
		case strings.HasPrefix(text, "-") && len(text) > 1:
			code, ends, next := in.letters(text[1:])
			if code {
				s.dynamic = !inert(handlerName(lastPart(args[0].text())), text, args[i+1:]) || s.dynamic
				return
			}
			if ends {
				s.module(values(append([]arg{args[0]}, args[i:]...)[:min(3, len(args)-i+1)], 'm', ""))
				return
			}
			if next {
				i++
			}
		case i == 1 && names(in.subs)[text]:
			s.dynamic = true
			return
		case i == 1 && names(in.commands)[text]:
			return
		default:
			s.script(args[i])
			return
		}
	}
	s.dynamic = true
}

func (in interpreter) letters(run string) (code, ends, next bool) {
	for i := range len(run) {
		switch {
		case strings.IndexByte(in.inline, run[i]) >= 0:
			return true, false, false
		case strings.IndexByte(in.modules, run[i]) >= 0:
			return false, true, false
		case strings.IndexByte(in.takes, run[i]) >= 0:
			return false, false, i == len(run)-1
		}
	}
	return false, false, false
}

func (in interpreter) longCode(text string) bool {
	for name := range strings.FieldsSeq(in.long) {
		if abbreviates(text, "--"+name) {
			return true
		}
	}
	return false
}

// module reads python -m. Most modules do their own work; some run code or programs.
func (s *scan) module(named []arg) {
	for _, name := range named {
		switch name.text() {
		case "code", "pdb", "timeit", "trace", "cProfile", "profile", "runpy", "pty", "idlelib", "IPython",
			"antigravity":
			s.dynamic = true
		}
		if !name.plain() {
			s.dynamic = true
		}
	}
}

// asksVersion reports whether an option only prints a program's version or help.
func asksVersion(text string) bool {
	return text == "--version" || text == "--help" || text == "-V" || text == "-VV"
}

func lastPart(text string) string { return text[strings.LastIndexByte(text, '/')+1:] }
