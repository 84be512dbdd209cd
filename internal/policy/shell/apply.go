package shell

import (
	"path"
	"strings"
)

// kind is what the value of an option is in the modes that are on.
func (r *reading) kind(o *option) kind {
	k := o.kind
	for i := range r.p.variants {
		v := &r.p.variants[i]
		for j := range v.options {
			if v.modes&^r.on == 0 && v.options[j].name == o.name {
				k = v.options[j].kind
			}
		}
	}
	return k
}

// takes is what the operands are in the modes that are on: by the last line whose modes
// all are.
func (r *reading) takes() *pattern {
	found := &r.p.takes
	for i := range r.p.variants {
		if v := &r.p.variants[i]; v.takes.stated && v.modes&^r.on == 0 {
			found = &v.takes
		}
	}
	return found
}

// apply records what a program does with its arguments.
func (s *scan) apply(r *reading) {
	before, moved := s.dir, false
	for _, v := range r.values {
		switch v.option.kind {
		case "dir":
			s.readFile(v.arg)
			s.dir, moved = s.dir.cd(v.arg).arrived(), true
		case "lost":
			s.dir.lost, moved = true, true
		}
	}
	if r.sub == nil {
		s.mark(r.p)
	}
	// Another directory may be a repository that the agent made, with settings of its own.
	s.opaque = s.opaque || r.on&modeOpaque != 0 ||
		r.p.rooted && (len(s.dir.dirs) != 1 || s.dir.dirs[0] != "." || s.dir.lost)
	s.dynamic = s.dynamic || r.on&modeDynamic != 0
	if r.on&modeScript != 0 {
		s.scripts.add(r.p.name)
	}
	for _, v := range r.values {
		k := r.kind(v.option)
		s.use(r.p, k, v.arg)
		if k == "dest" {
			s.fill(v.arg, r.operands)
		}
	}
	for _, a := range r.p.also {
		s.use(r.p, a.kind, s.lit(a.text))
	}
	if r.sub != nil {
		s.describe(r.sub, r.args[r.at:])
	} else {
		s.useOperands(r)
	}
	if moved {
		s.dir = before
	}
}

// fill records the files that are written if a destination is a directory.
func (s *scan) fill(dest arg, sources []arg) {
	for _, source := range sources {
		into := s.lit("/" + path.Base(source.text()))
		into.exact = source.exact
		into = s.follow(dest, into)
		into.glob = dest.glob || source.glob
		s.write(into)
	}
}

func (s *scan) useOperands(r *reading) {
	if r.on&modeUnpack != 0 || r.p.unpacks && r.on < firstOwnMode {
		s.opaque = true
		if r.on&modeInto == 0 {
			s.write(s.lit("**"))
		}
	}
	before := s.dir
	for _, v := range r.values {
		if v.option.kind == "into" && r.on&modeUnpack == 0 {
			s.dir = s.dir.cd(v.arg)
		}
	}
	for r.p.sets && len(r.operands) > 0 && strings.Contains(r.operands[0].text(), "=") {
		s.use(r.p, "assignment", r.operands[0])
		r.operands = r.operands[1:]
	}
	if r.p.name == "env" && len(r.operands) == 0 || r.p.name == "set" && len(r.args) == 1 { // prints the environment
		s.unknown.add(r.p.name)
	}
	takes := r.takes()
	switch {
	case r.p.name == "ln" && len(r.operands) == 1: // the new name is here
		r.operands = s.args.list(s.lit(path.Base(r.operands[0].text())))
	case takes.many == "change" && len(r.operands) == len(takes.before) && len(r.operands) > 0:
		s.change(r.operands[len(r.operands)-1]) // an option that we do not know may have said the mode
	case r.p.here && len(r.operands) == 0:
		s.write(s.lit("**"))
	case r.p.whole && takes.many == "tree" && len(r.operands) <= len(takes.before):
		s.use(r.p, "tree", s.lit("."))
	}
	if !takes.stated {
		if r.p.subs != nil && !r.p.script && len(r.operands) > 0 {
			s.unknown.add(r.p.name + " " + r.operands[0].text())
		}
		s.shellsWithin(r.args)
	} else {
		s.usePattern(r, takes)
	}
	if r.on&modeInto != 0 {
		s.dir = before
	}
}

// usePattern goes through the operands. Those at the end come first: of cp with a single
// operand we say that it is written.
func (s *scan) usePattern(r *reading, takes *pattern) {
	last := max(len(r.operands)-len(takes.after), 0)
	for i, a := range r.operands {
		k := takes.many
		switch {
		case i >= last:
			k = takes.after[len(takes.after)-(len(r.operands)-i)]
		case i < len(takes.before):
			k = takes.before[i]
		}
		switch k {
		case "":
			s.unknown.add(r.p.name + " " + a.text())
		case "command":
			s.startRest(r, r.operands[i:])
			return
		case "shell":
			s.innerRest(r, r.operands[i:])
			return
		case "script":
			s.script(a)
			return
		case "dest":
			s.use(r.p, k, a)
			s.fill(a, r.operands[:i])
		default:
			s.use(r.p, k, a)
		}
	}
	if r.p.needs && (takes.many != "each" || len(r.operands) == 0) && !r.given() {
		s.dynamic = true // a shell, or code from the input
	}
}

// startRest reads a program with its arguments. flock has its text behind the file.
func (s *scan) startRest(r *reading, rest []arg) {
	o, whole := r.p.option(rest[0].text())
	switch {
	case whole && o.kind == "shell":
		s.inner(rest[1:min(2, len(rest))])
	case r.p.name == "command" || r.p.name == "builtin":
		s.call(rest)
	default:
		s.subshell(func() { s.call(rest) }) // a cd in another process does not last
	}
}

// innerRest reads text for a shell. The option that says so may stand behind the operands: sg GROUP -c TEXT.
func (s *scan) innerRest(r *reading, rest []arg) {
	if o, whole := r.p.option(rest[0].text()); whole && o.kind == "shell" && rest[0].exact {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		s.dynamic = true
		return
	}
	s.inner(rest)
}

// given reports whether the arguments say what runs, or that nothing does.
func (r *reading) given() bool {
	for _, v := range r.values {
		if k := v.option.kind; k == "shell" || k == "code" || k == "module" {
			return true
		}
	}
	takes := r.takes()
	return !takes.starts && (len(takes.before) == 0 || len(r.operands) > 0)
}
