package shell

import (
	"path"
	"strings"
)

// testFile reads test and [. Their other operators evaluate text, and are not described.
func testFile(s *scan, p *program, args []arg) {
	subscripts(s, p, args)
	words := args[1:]
	if args[0].text() == "[" && len(words) > 0 {
		words = words[:len(words)-1]
	}
	if len(words) > 0 && words[0].text() == "!" {
		words = words[1:]
	}
	switch {
	case len(words) <= 1:
	case len(words) == 2 && testsFile[words[0].text()]:
		s.readFile(words[1])
	case len(words) == 2 && (words[0].text() == "-n" || words[0].text() == "-z"):
	case len(words) == 3 && comparisons[words[1].text()]:
	default:
		s.unknown.add(p.name + " with these operators")
	}
}

var (
	testsFile   = names("-e -f -d -r -w -x -s -L -h -b -c -p -S")
	comparisons = names("= == != -eq -ne -lt -le -gt -ge")
)

// dd reads operands of the form name=value.
func dd(s *scan, p *program, args []arg) {
	for _, a := range args[1:] {
		name, _, _ := strings.Cut(a.text(), "=")
		switch value := a.without(len(name) + 1); name {
		case "of":
			s.write(value)
		case "if":
			s.readFile(value)
		case "bs", "count", "skip", "seek", "ibs", "obs", "status", "conv", "iflag", "oflag":
		default:
			s.undescribed(p, name)
		}
		s.dynamic = s.dynamic || !a.exact
	}
}

// chmod reads chmod, whose modes may look like options: chmod -x file.
func chmod(s *scan, p *program, args []arg) {
	var operands []arg
	reference := false
	for _, a := range args[1:] {
		text := a.text()
		reference = reference || strings.HasPrefix(text, "--ref")
		switch {
		case text == "--" || text == "-R" || text == "-v" || text == "-c" || text == "-f" || text == "--recursive":
		case len(text) > 1 && text[0] == '-' && strings.Trim(text[1:], "rwxXst") == "":
			operands = append(operands, a)
		case len(text) > 1 && text[0] == '-':
			s.undescribed(p, text)
		default:
			operands = append(operands, a)
		}
	}
	if len(operands) > 1 && !reference {
		operands = operands[1:]
	}
	for _, a := range operands {
		s.change(a)
	}
}

// sqliteAsks are the commands of sqlite that only print.
var sqliteAsks = names(".tables .schema .headers .mode .indexes .databases .help .quit .exit .dump .width .fullschema")

// database reads a client whose statements can reach a shell.
func database(s *scan, _ *program, args []arg) {
	for _, a := range args[1:] {
		s.dynamic = s.dynamic || reachesShell(a.text())
	}
	if s.input.given && !s.input.file && (!s.input.known || reachesShell(s.input.text)) {
		s.dynamic = true
	}
}

func reachesShell(text string) bool {
	lower := strings.ToLower(text)
	for _, word := range []string{
		`\!`, "program", "system", "load_extension", "edit(", `\copy`, `\o`, `\w`, `\g`, "|",
	} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	for line := range strings.FieldsFuncSeq(lower, func(r rune) bool { return r == '\n' || r == ';' }) {
		fields := strings.Fields(line)
		if len(fields) > 0 && len(fields[0]) > 1 && fields[0][0] == '.' && !sqliteAsks[fields[0]] &&
			!strings.Contains(fields[0], "/") {
			return true
		}
	}
	return false
}

// containers reads the command that is started in a container, like a local one.
func containers(s *scan, p *program, args []arg) {
	if sub := s.arguments(p, args); sub.sub != nil {
		s.apply(&sub)
		return
	}
	s.unknown.add(p.name)
	s.shellsWithin(args)
	for i := 1; i < len(args); i++ {
		if args[i].text() == "--" && i+1 < len(args) && args[i].exact { // kubectl exec pod -- command
			s.subshell(func() { s.call(args[i+1:]) })
			return
		}
	}
}

// gitConfig reads git config. Only asking for one setting is described; a setting that
// is set has effect from then on.
func gitConfig(s *scan, p *program, args []arg) {
	words := operands(args)
	options := len(args) - 1 - len(words)
	switch {
	case len(args) == 2 && (args[1].text() == "--list" || args[1].text() == "-l" || args[1].text() == "list"):
	case len(args) == 3 && (args[1].text() == "--get" || args[1].text() == "--get-all" || args[1].text() == "get"):
	case len(words) == 1 && options == 0:
	default:
		s.unknown.add(p.name + " with these operands")
		s.gitConfigSets(args, words)
	}
}

func (s *scan) gitConfigSets(args, words []arg) {
	for _, a := range args[1:] {
		switch a.text() {
		case "-e", "--edit", "edit":
			s.dynamic = true
		}
	}
	if len(words) > 0 && words[0].text() == "set" {
		words = words[1:]
	}
	if len(words) >= 2 && words[0].text() != "unset" {
		s.gitSetting(words[0].followed(literal("=")).followed(words[1]))
	}
}

// link reads ln. With one operand the new name is in the current directory.
func link(s *scan, p *program, args []arg) {
	r := s.arguments(p, args)
	for _, v := range r.values {
		s.useValue(&r, v)
	}
	switch n := len(r.operands); {
	case r.on&modeInto != 0 || n == 0:
	case n == 1:
		s.write(literal(path.Base(r.operands[0].text())))
	default:
		s.write(r.operands[n-1])
	}
}

// searchHere reads a program that searches the current directory if it gets no other.
func searchHere(s *scan, p *program, args []arg) {
	r := s.arguments(p, args)
	takes := r.takes()
	if takes.many == kindTree && len(r.operands) <= len(takes.before) {
		s.use(p, kindTree, literal("."))
	}
	s.apply(&r)
}

// changeHere reads a program that changes the current directory if it gets no other.
func changeHere(s *scan, p *program, args []arg) {
	r := s.arguments(p, args)
	if len(r.operands) == 0 {
		s.write(literal("**"))
	}
	s.apply(&r)
}

// unzip reads unzip, which unpacks unless it is asked to list or print.
func unzip(s *scan, p *program, args []arg) {
	r := s.arguments(p, args)
	if r.on < firstOwnMode {
		r.on |= modeUnpack
	}
	s.apply(&r)
}

// edit reads sed. Where -i takes the next word, the script is the operand behind the one that we take for it.
func edit(s *scan, p *program, args []arg) {
	r := s.arguments(p, args)
	if len(r.operands) > 2 {
		other := &sedReader{text: r.operands[1].text()}
		other.read()
		s.opaque = s.opaque || len(other.writes) > 0 || len(other.reads) > 0
	}
	s.apply(&r)
}

// date reads date. An operand that is no format sets the clock.
func date(s *scan, p *program, args []arg) {
	r := s.arguments(p, args)
	for _, a := range r.operands {
		if !strings.HasPrefix(a.text(), "+") {
			s.unknown.add(p.name + " " + a.text())
		}
	}
	s.apply(&r)
}

// ps reads ps. The letter e without a dash shows the environment of processes.
func ps(s *scan, p *program, args []arg) {
	r := s.arguments(p, args)
	for _, a := range r.operands {
		if strings.ContainsAny(a.text(), "eE") {
			s.unknown.add(p.name + " " + a.text())
		}
	}
	s.apply(&r)
}
