package shell

import "strings"

// describe reads the arguments of a described program, of which the first is the program
// itself.
func (s *scan) describe(p *program, args []arg) {
	if p.read != nil {
		if p.subs == nil {
			s.mark(p)
		}
		p.read(s, p, args)
		return
	}
	r := s.arguments(p, args)
	s.apply(&r)
}

// mark records what holds for a program whatever its arguments are.
func (s *scan) mark(p *program) {
	if p.partial {
		s.unknown.add(p.name)
	}
	if p.script {
		s.scripts.add(p.name)
	}
	s.dynamic = s.dynamic || p.dynamic
	s.opaque = s.opaque || p.links || p.input
	if p.input {
		s.mentionInput()
	}
}

// undescribed records an option that the description lacks: it may do anything. A
// partial description lacks most of those that do no harm.
func (s *scan) undescribed(p *program, option string) {
	option, _, joined := strings.Cut(option, "=")
	if (p.partial || p.script) && !p.closed && (!p.starts || joined && p.script) {
		s.unknown.add(p.name)
		return
	}
	s.unknown.add(p.name + " " + option)
	s.dynamic = true
}

// reading sorts the arguments of a program into options and operands.
type reading struct {
	s    *scan
	p    *program
	args []arg
	at   int

	values   []value
	operands []arg
	on       modes
	ended    bool // what follows are operands
	sub      *program
}

type value struct {
	option *option
	arg
}

func (s *scan) arguments(p *program, args []arg) reading {
	r := reading{s: s, p: p, args: args}
	r.operands, r.values = s.args.room(len(args)), s.values.room(len(args))
	for r.at = 1; r.at < len(args); r.at++ {
		if r.ended {
			r.operands = append(r.operands, args[r.at])
			continue
		}
		if r.argument(args[r.at]); r.sub != nil {
			break
		}
	}
	return r
}

func (r *reading) argument(a arg) {
	text := a.text()
	r.s.dynamic = r.s.dynamic || r.p.starts && !a.exact // an option, or what is started
	switch {
	case r.p.pairs: // dd of=file
		r.s.dynamic = r.s.dynamic || !a.exact
		r.long(r.s.follow(r.s.lit("--"), a))
	case text == "--" && a.exact:
		r.ended = true
	case text == "-":
		if o, whole := r.p.option(text); whole {
			r.on |= o.on
			return
		}
		r.operand(a)
	case len(text) < 2 || text[0] != '-':
		r.operand(a)
	case text[1] == '-' || r.p.single:
		r.long(a)
	default:
		r.letters(a, 1)
	}
}

func (r *reading) operand(a arg) {
	text := a.text()
	if len(r.operands) == 0 && r.p.subs != nil {
		if !a.plain() {
			r.s.dynamic = true
		}
		if r.sub = r.p.subs[text]; r.sub != nil {
			return
		}
	}
	if r.at == 1 && r.p.old && a.plain() {
		r.letters(a, 0)
		return
	}
	r.operands = append(r.operands, a)
	r.ended = r.p.ends || r.p.starts && !(r.p.sets && strings.Contains(text, "="))
}

// option finds an option by its whole name, or else by the beginning of it.
func (p *program) option(name string) (found *option, whole bool) {
	for i := range p.options {
		o := &p.options[i]
		if o.name == name {
			return o, true
		}
		if found == nil && len(name) > 3 && strings.HasPrefix(o.name, name) && strings.HasPrefix(name, "--") {
			found = o
		}
	}
	return found, false
}

// long reads --option, or -option of programs that write long options with one dash.
func (r *reading) long(a arg) {
	text := a.text()
	name, _, joined := strings.Cut(text, "=")
	if r.p.single {
		name = "-" + strings.TrimLeft(name, "-")
	}
	o, whole := r.p.option(name)
	switch {
	case o == nil && r.p.single && text[1] != '-' && r.p.short[text[1]&0x7f] != 0:
		r.letters(a, 1)
		return
	case o == nil:
		r.s.undescribed(r.p, text)
		return
	case !whole || joined && o.form == noValue:
		r.s.undescribed(r.p, name)
	}
	r.on |= o.on
	switch {
	case joined && o.form != noValue:
		r.value(o, r.s.without(a, strings.IndexByte(text, '=')+1))
	case o.form == oneValue:
		r.next(o)
	}
}

// letters reads -abc from a position of the text on.
func (r *reading) letters(a arg, from int) {
	text := a.text()
	for i := from; i < len(text); i++ {
		o := r.p.letter(text[i])
		if o == nil {
			r.s.undescribed(r.p, "-"+text[i:i+1])
			continue
		}
		r.on |= o.on
		attached := i+1 < len(text) || !a.exact
		switch {
		case o.form == noValue:
			continue
		case attached && from > 0:
			r.value(o, r.s.without(a, i+1))
			return
		case o.form == oneValue:
			r.next(o)
			if from > 0 {
				return
			}
		}
	}
}

func (p *program) letter(c byte) *option {
	if c >= '0' && c <= '9' && p.short[c] == 0 {
		c = '#'
	}
	if c >= 128 || p.short[c] == 0 {
		return nil
	}
	return &p.options[p.short[c]-1]
}

// next takes the next argument as the value of an option.
func (r *reading) next(o *option) {
	if r.at++; r.at < len(r.args) {
		// We may be wrong about the value, and then this is an option.
		text := r.args[r.at].text()
		// Where options end at the first operand, this is a file.
		late := len(r.operands) > 0 && strings.ContainsAny(text, "/~")
		r.s.opaque = r.s.opaque || looksLikeOption(text) || late
		r.value(o, r.args[r.at])
		return
	}
	r.s.opaque = true // it may come from elsewhere, as from xargs
	r.value(o, unknown)
}

func looksLikeOption(text string) bool {
	return len(text) > 1 && text[0] == '-' && strings.Trim(text[1:], "0123456789") != ""
}

func (r *reading) value(o *option, a arg) {
	r.values = append(r.values, value{o, a})
	if r.p.starts && (o.kind == "module" || o.kind == "code") {
		r.ended = true // the rest is for that code
	}
}
