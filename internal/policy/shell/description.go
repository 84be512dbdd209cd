package shell

import (
	"embed"
	"fmt"
	"maps"
	"strings"
	"sync"
)

// programFiles describe the programs that we know. docs/shell.md explains their form.
//
//go:embed programs/*.txt
var programFiles embed.FS

// described are the programs by their names. A mistake in our files is found by a test.
var described = sync.OnceValue(func() map[string]*program {
	all, err := readPrograms()
	if err != nil {
		panic(err)
	}
	return all
})

// program is the description of one program, or of one of its subcommands.
type program struct {
	name     string // git log
	options  []option
	short    [128]uint8 // index of -x in options, plus one
	takes    pattern
	variants []variant
	also     []also
	subs     map[string]*program
	read     reader // for programs that a list of options does not describe

	modes map[string]modes // bits of the names that its lines use

	partial bool // described only so far as it starts and writes; never plain
	script  bool // runs code of the workspace
	dynamic bool // what it runs cannot be known
	links   bool // makes names that lead to other files
	single  bool // long options have one dash
	old     bool // the first operand may be letters of options
	closed  bool // an option without a description is dynamic although it is partial
	needs   bool // without operands it reads code, or starts a shell
	rooted  bool // plain only where the command starts, because of its settings there
	ends    bool // options end at the first operand
	pairs   bool // operands of the form name=value are options
	whole   bool // without operands for it, it searches the current directory
	here    bool // without operands, it changes the current directory
	input   bool // uses its input as words
	unpacks bool // writes what an archive holds, unless an option asks for something else
	sets    bool // operands of the form name=value set variables
	starts  bool // operands begin with a program, so that options end there
}

type modes uint32

// Modes that mean the same for all programs.
const (
	modeDynamic modes = 1 << iota
	modeOpaque
	modeScript
	modeUnpack // writes whatever an archive holds, here
	modeInto   // but into another directory
	firstOwnMode
)

var sharedModes = map[string]modes{
	"dynamic": modeDynamic,
	"opaque":  modeOpaque,
	"script":  modeScript,
	"unpack":  modeUnpack,
	"into":    modeInto,
}

type form uint8

const (
	noValue    form = iota
	oneValue        // -o value, -ovalue, --output value, --output=value
	maybeValue      // -ovalue, --output=value
)

type option struct {
	name string // with its dashes
	form form
	kind kind
	on   modes
}

// pattern says what operands are: some at the beginning, many alike, some at the end.
type pattern struct {
	stated        bool
	starts        bool // one of them is a program or code
	before, after []kind
	many          kind
}

// also is something that a program does besides what its arguments say.
type also struct {
	kind kind
	text string
}

// variant changes a description while all its modes are on.
type variant struct {
	modes   modes
	options []option
	takes   pattern
}

func readPrograms() (map[string]*program, error) {
	files, err := programFiles.ReadDir("programs")
	if err != nil {
		return nil, err
	}
	r := descriptionReader{all: map[string]*program{}, sets: map[string]*program{}}
	for _, file := range files {
		text, err := programFiles.ReadFile("programs/" + file.Name())
		if err != nil {
			return nil, err
		}
		for i, line := range strings.Split(string(text), "\n") {
			if err := r.line(line); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file.Name(), i+1, err)
			}
		}
	}
	for _, n := range r.every {
		p := *n.into[n.key]
		p.name = n.name // each name has a description of its own
		p.finish()
		n.into[n.key] = &p
	}
	return r.all, nil
}

type descriptionReader struct {
	all     map[string]*program
	sets    map[string]*program // options that several programs share: @name
	every   []named
	current *program
}

// named is one name of a program, and the map that it stands in.
type named struct {
	into      map[string]*program
	key, name string
}

func (r *descriptionReader) line(line string) error {
	text, _, _ := strings.Cut(line, " # ")
	fields := strings.Fields(text)
	switch {
	case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
		return nil
	case line[0] != ' ' && line[0] != '\t':
		return r.begin(text)
	case r.current == nil:
		return fmt.Errorf("%s belongs to no program", fields[0])
	}
	return r.detail(r.current, fields)
}

// begin reads the names of a program: "grep, egrep", or "git log" for a subcommand.
func (r *descriptionReader) begin(text string) error {
	names := strings.Split(text, ",")
	p := &program{name: strings.TrimSpace(names[0]), modes: maps.Clone(sharedModes)}
	r.current = p
	for _, name := range names {
		words := strings.Fields(name)
		if len(words) == 0 {
			return fmt.Errorf("a name is missing in %q", text)
		}
		into := r.all
		if strings.HasPrefix(name, "@") {
			into = r.sets
		}
		for _, word := range words[:len(words)-1] {
			parent := into[word]
			if parent == nil {
				return fmt.Errorf("%s is described before %s", name, word)
			}
			if parent.subs == nil {
				parent.subs = map[string]*program{}
			}
			into = parent.subs
		}
		last := words[len(words)-1]
		if into[last] != nil {
			return fmt.Errorf("%s is described twice", strings.TrimSpace(name))
		}
		into[last] = p
		r.every = append(r.every, named{into, last, strings.Join(words, " ")})
	}
	return nil
}

func (r *descriptionReader) detail(p *program, fields []string) error {
	switch word := fields[0]; word {
	case "takes":
		return p.takes.read(fields[1:])
	case "is":
		return p.attributes(fields[1:])
	case "by":
		p.read = readers[fields[1]]
		if p.read == nil {
			return fmt.Errorf("there is no reader %s", fields[1])
		}
		return nil
	case "also":
		if len(fields) != 3 || !kinds[fields[1]] {
			return fmt.Errorf("%q: expected also KIND TEXT", strings.Join(fields, " "))
		}
		p.also = append(p.also, also{kind(fields[1]), fields[2]})
		return nil
	case "use":
		for _, name := range fields[1:] {
			set := r.sets[name]
			if set == nil {
				return fmt.Errorf("there is no set %s", name)
			}
			if len(set.modes) > len(sharedModes) {
				return fmt.Errorf("%s has modes of its own, which no other program knows", name)
			}
			p.options = append(p.options, set.options...)
		}
		return nil
	case "with":
		return p.variant(fields[1:])
	}
	options, err := p.readOptions(fields)
	p.options = append(p.options, options...)
	return err
}

func (p *program) attributes(fields []string) error {
	all := map[string]*bool{
		"partial": &p.partial, "script": &p.script, "dynamic": &p.dynamic, "links": &p.links, "single": &p.single,
		"old": &p.old, "closed": &p.closed, "needs": &p.needs, "sets": &p.sets, "rooted": &p.rooted,
		"ends": &p.ends, "pairs": &p.pairs, "whole": &p.whole, "here": &p.here, "input": &p.input,
		"unpacks": &p.unpacks,
	}
	for _, field := range fields {
		if all[field] == nil {
			return fmt.Errorf("there is no attribute %s", field)
		}
		*all[field] = true
	}
	return nil
}

// mode is the bit of a mode's name.
func (p *program) mode(name string) modes {
	if p.modes[name] == 0 {
		p.modes[name] = firstOwnMode << (len(p.modes) - len(sharedModes))
	}
	return p.modes[name]
}

// variant reads "with r+t: takes tree..." or "with c: -f=write".
func (p *program) variant(fields []string) error {
	condition, ok := strings.CutSuffix(fields[0], ":")
	if !ok || len(fields) < 2 {
		return fmt.Errorf("%q: expected with MODE: and what changes", strings.Join(fields, " "))
	}
	var v variant
	for name := range strings.SplitSeq(condition, "+") {
		if p.modes[name] == 0 {
			return fmt.Errorf("no option turns on %s", name)
		}
		v.modes |= p.mode(name)
	}
	var err error
	if fields[1] == "takes" {
		err = v.takes.read(fields[2:])
	} else {
		v.options, err = p.readOptions(fields[1:])
	}
	p.variants = append(p.variants, v)
	return err
}

func (t *pattern) read(fields []string) error {
	t.stated = true
	into := &t.before
	for _, field := range fields {
		name, many := strings.CutSuffix(field, "...")
		k := kind(name)
		if !kinds[name] {
			return fmt.Errorf("there is no kind %s", name)
		}
		t.starts = t.starts || k.starts()
		if many {
			t.many, into = k, &t.after
			continue
		}
		*into = append(*into, k)
	}
	return nil
}

// readOptions reads -abc, -o=write, --color[text], --recursive!r.
func (p *program) readOptions(fields []string) ([]option, error) {
	var options []option
	for _, field := range fields {
		o := option{}
		name, on, _ := strings.Cut(field, "!")
		for mode := range strings.SplitSeq(on, "!") {
			if mode != "" {
				o.on |= p.mode(mode)
			}
		}
		if at := strings.IndexAny(name, "=["); at > 0 {
			o.form = oneValue
			value := name[at+1:]
			if name[at] == '[' {
				o.form, value = maybeValue, strings.TrimSuffix(value, "]")
			}
			if o.kind = kind(value); !kinds[value] {
				return nil, fmt.Errorf("%s: there is no kind %s", field, value)
			}
			name = name[:at]
		}
		if name[0] != '-' {
			return nil, fmt.Errorf("%s is no option", field)
		}
		if strings.HasPrefix(name, "--") || p.single || len(name) < 3 {
			o.name = name
			options = append(options, o)
			continue
		}
		if o.form != noValue {
			return nil, fmt.Errorf("%s: only one letter can have a value", field)
		}
		for _, letter := range name[1:] {
			o.name = "-" + string(letter)
			options = append(options, o)
		}
	}
	return options, nil
}

// finish indexes what was read.
func (p *program) finish() {
	for i := range p.options {
		if name := p.options[i].name; len(name) == 2 && name[1] != '-' {
			p.short[name[1]&0x7f] = uint8(i + 1)
		}
	}
	p.starts = p.takes.starts
	for i := range p.variants {
		p.starts = p.starts || p.variants[i].takes.starts
	}
}
