package shell

import "strings"

// reader reads the arguments of a program that a list of options does not describe.
type reader func(s *scan, p *program, args []arg)

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
	s.opaque = s.opaque || p.links
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
	r := reading{s: s, p: p, args: args, operands: s.room(len(args))}
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
	switch {
	case r.p.starts && !a.exact: // an option, or what is started
		r.s.dynamic = true
		r.operand(a)
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
	r.ended = r.p.starts && !(r.p.sets && strings.Contains(text, "="))
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
		r.value(o, a.without(strings.IndexByte(text, '=')+1))
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
			r.value(o, a.without(i+1))
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
		r.s.opaque = r.s.opaque || looksLikeOption(r.args[r.at].text())
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
	if r.p.starts && (o.kind == kindModule || o.kind == kindCode) {
		r.ended = true // the rest is for that code
	}
}

// kind is what the value of an option is in the modes that are on.
func (r *reading) kind(o *option) kind {
	k := o.kind
	for i := range r.p.variants {
		v := &r.p.variants[i]
		if v.modes&^r.on != 0 {
			continue
		}
		for j := range v.options {
			if v.options[j].name == o.name {
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
		case kindDir:
			s.readFile(v.arg)
			s.dir, moved = s.dir.cd(v.arg).arrived(), true
		case kindLost:
			s.dir.lost, moved = true, true
		}
	}
	if r.sub == nil {
		s.mark(r.p)
	}
	s.dynamic = s.dynamic || r.on&modeDynamic != 0
	s.opaque = s.opaque || r.on&modeOpaque != 0
	if r.on&modeScript != 0 {
		s.scripts.add(r.p.name)
	}
	for _, v := range r.values {
		s.useValue(r, v)
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

func (s *scan) useValue(r *reading, v value) {
	k := r.kind(v.option)
	if k == kindCode && inert(r.p.name, v.arg) {
		return
	}
	s.use(r.p, k, v.arg)
}

func (s *scan) useOperands(r *reading) {
	if r.on&modeUnpack != 0 {
		s.opaque = true
		if r.on&modeInto == 0 {
			s.write(literal("**"))
		}
	}
	for _, v := range r.values {
		if v.option.kind == kindInto && r.on&modeUnpack == 0 {
			before := s.dir
			defer func() { s.dir = before }()
			s.dir = s.dir.cd(v.arg)
		}
	}
	for r.p.sets && len(r.operands) > 0 && strings.Contains(r.operands[0].text(), "=") {
		name, _, _ := strings.Cut(r.operands[0].text(), "=")
		s.environment(name, r.operands[0].without(len(name)+1))
		r.operands = r.operands[1:]
	}
	takes := r.takes()
	if !takes.stated {
		if r.p.subs != nil && !r.p.script && len(r.operands) > 0 {
			s.unknown.add(r.p.name + " " + r.operands[0].text())
		}
		s.shellsWithin(r.args)
		return
	}
	s.usePattern(r, takes)
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
		switch {
		case k == 0:
			s.unknown.add(r.p.name + " " + a.text())
		case k == kindCommand:
			s.startRest(r, r.operands[i:])
			return
		case k == kindShell:
			s.inner(r.operands[i:])
			return
		case k == kindScript:
			s.script(a)
			return
		default:
			s.use(r.p, k, a)
		}
	}
	if r.p.needs && (takes.many != kindEach || len(r.operands) == 0) && !r.given() {
		s.dynamic = true // a shell, or code from the input
	}
}

// startRest reads a program with its arguments. flock has its text behind the file.
func (s *scan) startRest(r *reading, rest []arg) {
	if o, whole := r.p.option(rest[0].text()); whole && o.kind == kindShell {
		if len(rest) > 1 {
			s.inner(rest[1:2])
		}
		return
	}
	s.call(rest)
}

// given reports whether the arguments say what runs, or that nothing does.
func (r *reading) given() bool {
	for _, v := range r.values {
		if k := v.option.kind; k == kindShell || k == kindCode || k == kindModule {
			return true
		}
	}
	takes := r.takes()
	return !takes.starts && (len(takes.before) == 0 || len(r.operands) > 0)
}
