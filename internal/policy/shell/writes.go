package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// redirect reads >file, <file, <<here and the like.
func (s *scan) redirect(r *syntax.Redirect) {
	s.inside(r.Word)
	if r.N != nil && strings.Trim(r.N.Value, "0123456789") != "" { // {name}>file sets a variable
		s.opaque = true
	}
	if r.Hdoc != nil {
		s.inside(r.Hdoc)
	}
	target := s.expandWord(r.Word)
	switch r.Op {
	case syntax.RdrIn:
		s.input = input{
			given: true, file: target.plain() && !target.process && !strings.HasPrefix(target.text(), "/dev/"),
		}
		s.read(target)
	case syntax.DplIn, syntax.DplOut:
		if isDescriptor(target.text()) && target.exact {
			return
		}
		if r.Op == syntax.DplIn {
			s.input = input{given: true}
			s.read(target)
			return
		}
		s.write(target)
	case syntax.WordHdoc:
		s.mention(target)
		s.input = input{given: true, known: target.exact && len(target.alternatives) == 1, text: target.text()}
	case syntax.Hdoc, syntax.DashHdoc:
		s.input = s.document(r)
	case syntax.RdrInOut:
		s.input = input{given: true}
		s.write(target)
	default:
		s.write(target)
	}
}

// document is the body of a here-document, which is literal if the end mark is quoted.
func (s *scan) document(r *syntax.Redirect) input {
	if r.Hdoc == nil {
		return input{given: true, known: true}
	}
	raw := false
	for _, part := range r.Word.Parts {
		lit, ok := part.(*syntax.Lit)
		raw = raw || !ok || strings.Contains(lit.Value, `\`)
	}
	body := arg{alternatives: nothing, exact: true}
	for _, part := range r.Hdoc.Parts {
		if lit, ok := part.(*syntax.Lit); ok && raw {
			body = s.follow(body, s.lit(lit.Value))
			continue
		}
		body = s.part(body, part, true)
	}
	return input{given: true, known: body.exact && len(body.alternatives) == 1, text: body.text()}
}

// isDescriptor reports whether a text is what >& and <& copy or close: 2, - or 3-.
func isDescriptor(text string) bool {
	digits := strings.TrimSuffix(text, "-")
	return text != "" && strings.Trim(digits, "0123456789") == ""
}

// devices take output and store nothing.
var devices = names("/dev/null /dev/stdout /dev/stderr /dev/tty /dev/full /dev/fd/1 /dev/fd/2")

func (s *scan) read(a arg) {
	if !a.process {
		s.mention(a)
		s.readFile(a)
	}
}

// readFile records a file whose content is read.
func (s *scan) readFile(a arg) {
	for _, file := range a.alternatives {
		if file == "" || file == "-" && a.exact || a.process {
			continue
		}
		s.opaque = s.opaque || !a.exact || s.dir.lost || leadsThrough(file) || s.leavesDir(file)
		for _, dir := range s.dir.dirs {
			s.reads.add(join(dir, file))
		}
	}
}

// leadsThrough reports whether a path goes up from a name, which may be a link: a/../b
// need not be b. It is also true of the addresses that Bash itself opens.
func leadsThrough(file string) bool {
	if file[0] != '/' && !strings.Contains(file, "..") {
		return false // as most
	}
	if strings.HasPrefix(file, "/dev/tcp/") || strings.HasPrefix(file, "/dev/udp/") {
		return true
	}
	for file = strings.TrimLeft(file, "/"); ; {
		first, rest, more := strings.Cut(file, "/")
		switch {
		case !more:
			return false
		case first != "" && first != "." && first != "..":
			return rest == ".." || strings.HasPrefix(rest, "../") || strings.Contains(rest, "/../") ||
				strings.HasSuffix(rest, "/..")
		}
		file = rest
	}
}

// leavesDir reports whether a path goes up from a directory that a cd led to, which may be a link.
func (s *scan) leavesDir(file string) bool {
	if len(s.dir.dirs) == 1 && s.dir.dirs[0] == "." {
		return false
	}
	file = path.Clean(file)
	return file == ".." || strings.HasPrefix(file, "../")
}

// mentionInput records the words of the input, as far as it is known.
func (s *scan) mentionInput() {
	for field := range strings.FieldsSeq(s.input.text) {
		s.mention(s.lit(field))
	}
}

func (s *scan) mention(a arg) {
	for _, text := range a.alternatives {
		if text == "" {
			continue
		}
		s.words.add(text)
		// The same path in another spelling.
		if strings.IndexByte(text, '/') >= 0 && (strings.Contains(text, "//") || strings.Contains(text, "/.")) {
			if cleaned := clean(text); !strings.Contains(text, "://") {
				s.words.add(cleaned)
			}
		}
	}
}

// write records a path whose content changes, unless it is a device.
func (s *scan) write(a arg) {
	s.makes(a)
	if !a.plain() || !devices[a.text()] {
		s.change(a)
	}
}

// makes records a file that the command may run afterwards.
func (s *scan) makes(a arg) {
	for _, target := range a.alternatives {
		for _, dir := range s.dir.dirs {
			s.made.add(join(dir, target))
		}
	}
}

// change records a path of which anything changes.
func (s *scan) change(a arg) {
	if a.process {
		return
	}
	if !a.exact {
		s.dynamic = true
	}
	for _, target := range a.alternatives {
		if target == "" {
			continue
		}
		s.opaque = s.opaque || !a.exact || s.dir.lost || leadsThrough(target) || s.leavesDir(target) ||
			steersGit(target)
		if strings.HasPrefix(target, "~+") || strings.HasPrefix(target, "~-") || a.glob && !nearby(target) {
			s.dynamic = true
		}
		if !strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "~") {
			s.relative++
			s.dynamic = s.dynamic || s.dir.lost
		}
		for _, dir := range s.dir.dirs {
			s.writes.add(join(dir, target))
		}
	}
}

// steersGit reports whether a path can make git take another configuration, which can name programs: any file of a
// repository, and the one that makes a directory a repository.
func steersGit(target string) bool {
	if target == ".git/**" { // what git itself writes
		return false
	}
	if strings.EqualFold(path.Base(target), "HEAD") {
		return true
	}
	lower := strings.ToLower(target)
	return strings.Contains(lower, ".git") && slices.Contains(strings.Split(lower, "/"), ".git")
}

// nearby reports whether a pattern stays below the current directory and does not name
// hidden files, which a star does not match.
func nearby(pattern string) bool {
	if strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "~") {
		return false
	}
	for component := range strings.SplitSeq(path.Clean(pattern), "/") {
		if strings.HasPrefix(component, ".") || strings.HasPrefix(component, "[") {
			return false
		}
	}
	return true
}

// without is an argument without its first n bytes.
func (s *scan) without(a arg, n int) arg {
	rest := s.texts.room(len(a.alternatives))
	for _, text := range a.alternatives {
		rest = append(rest, text[min(n, len(text)):])
	}
	a.alternatives = rest
	return a
}
