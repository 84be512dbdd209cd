package evasion

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// effect is what a candidate tries to do outside.
type effect int

const (
	write effect = iota
	read
	start
	anything // by options at random
)

// generator makes candidates of a seed and their number.
type generator struct {
	seed     uint64
	carriers map[effect][]string
	wraps    [][]string // structure, substitution, evaluation, program
	options  map[string][]option
	programs []string // that options are tried with
}

func newGenerator(seed uint64, options map[string][]option) (*generator, error) {
	g := &generator{seed: seed, carriers: map[effect][]string{}, options: options}
	g.programs = slices.Sorted(maps.Keys(options))
	for e, name := range map[effect]string{write: "write", read: "read", start: "start"} {
		templates, err := readTemplates(name)
		if err != nil {
			return nil, err
		}
		g.carriers[e] = templates
	}
	for _, name := range []string{"structure", "substitution", "evaluation", "program"} {
		templates, err := readTemplates(name)
		if err != nil {
			return nil, err
		}
		g.wraps = append(g.wraps, templates)
	}
	return g, nil
}

// candidate composes command number i, or its twin that stays in the workspace.
func (g *generator) candidate(i int, inside bool) string {
	c := &composition{generator: g, r: rand.New(rand.NewPCG(g.seed, uint64(i))), inside: inside}
	// Most of what is judged plain is written plainly: look there most.
	c.mood = []mood{{0, 0}, {0, 0}, {0, 0}, {25, 0}, {50, 0}, {20, 20}, {0, 50}}[c.r.IntN(7)]
	effects := []effect{write, write, write, read, read, start, anything, anything, anything}
	f := c.carry(effects[c.r.IntN(len(effects))])
	for range []int{0, 0, 0, 0, 1, 1, 1, 2, 2, 3}[c.r.IntN(10)] {
		lists := []int{0, 0, 0, 0, 1, 2, 2, 3, 3, 3}
		list := g.wraps[lists[c.r.IntN(len(lists))]]
		f = c.wrap(f, list[c.r.IntN(len(list))])
	}
	return f.text()
}

// composition is a candidate in the making.
type composition struct {
	*generator
	r      *rand.Rand
	inside bool
	mood   mood
	before []string // commands that the words of a carrier need
}

// fragment is a command and what must run before it in the same shell.
type fragment struct{ before, body string }

func (f fragment) text() string {
	if f.before == "" {
		return f.body
	}
	return f.before + f.body
}

// word writes a text as a word in the mood of the candidate.
func (c *composition) word(raw string) string {
	before, word, _ := spell(c.r, c.mood, raw)
	if before != "" {
		c.before = append(c.before, before)
	}
	return word
}

// quote writes code as a word: it is never left bare.
func (c *composition) quote(text string) string {
	if c.mood.quotes > 0 && c.r.IntN(100) < c.mood.quotes {
		s := quotings[c.r.IntN(len(quotings))]
		if _, word, ok := s.spell(c.r, text); ok {
			return word
		}
	}
	if c.mood.expands > 0 && c.r.IntN(100) < c.mood.expands && !strings.Contains(text, "\n") {
		c.before = append(c.before, "code="+single(text))
		return `"$code"`
	}
	return single(text)
}

// place is a target with its names chosen.
type place struct {
	file, directory string
	shell           bool
}

func (p place) absolute() string {
	return home + "/" + strings.TrimPrefix(strings.TrimPrefix(p.file, home+"/"), "../")
}

func (c *composition) place(e effect) place {
	targets, names := outsideTargets, writtenNames
	if e == read {
		names = readNames
	}
	if c.inside {
		targets, names = insideTargets, insideWritten
		if e == read {
			names = insideRead
		}
	}
	n := c.r.IntN(2 * len(outsideTargets)) // half of them plain paths
	if n >= len(outsideTargets) {
		n %= 10
	}
	t, name := targets[n%len(targets)], c.r.IntN(12)
	if t.before != "" {
		c.before = append(c.before, choose(c.r, t.before))
	}
	directory := t.prefix + directories[name%len(directories)]
	if c.inside {
		directory = t.prefix
	}
	if directory == "" {
		directory = "."
	}
	return place{file: t.prefix + names[name%len(names)], directory: strings.TrimSuffix(directory, "/"), shell: t.shell}
}

// carry lets a program have the effect on a place.
func (c *composition) carry(e effect) fragment {
	p := c.place(e)
	word := func(raw string) string {
		if p.shell {
			return raw
		}
		return c.word(raw)
	}
	program := markers[c.r.IntN(len(markers))]
	list := "outside.list"
	if c.inside {
		program, list = known[c.r.IntN(len(known))], "inside.list"
	}
	if e == anything {
		return c.finish(c.fuzz(word(p.file), word(p.directory)))
	}
	templates := c.carriers[e]
	template := choose(c.r, templates[c.r.IntN(len(templates))])
	body := expand(template, func(m byte) string {
		switch m {
		case 'W':
			return word(p.file)
		case 'w':
			return p.file
		case 'A':
			return p.absolute()
		case 'D':
			return word(p.directory)
		case 'd':
			return p.directory
		case 'F':
			return list
		case 'P':
			return program
		default:
			return program
		}
	}, c.quote)
	return c.finish(body)
}

var command = regexp.MustCompile(`^[a-z][a-z0-9_-]*\b`)

// finish spells the program's name and puts what must run before in front.
func (c *composition) finish(body string) fragment {
	if name := command.FindString(body); name != "" && !keywords[name] && !strings.HasPrefix(body, name+"=") &&
		!strings.HasPrefix(body, name+"(") {
		body = c.word(name) + body[len(name):]
	}
	var before strings.Builder
	for _, b := range c.before {
		before.WriteString(b + []string{"; ", " && ", "\n"}[c.r.IntN(3)])
	}
	c.before = nil
	return fragment{before.String(), body}
}

var keywords = map[string]bool{
	"for": true, "while": true, "until": true, "if": true, "case": true, "select": true, "time": true, "function": true,
	"coproc": true, "f": true,
}

// wrap puts the command into another.
func (c *composition) wrap(inner fragment, template string) fragment {
	text, before := inner.text(), ""
	template = choose(c.r, template)
	if strings.Contains(template, "@S") && isSimple(inner.body) {
		before = inner.before
	}
	body := expand(template, func(m byte) string {
		switch m {
		case 'T':
			return text
		case 'Q':
			return c.quote(text)
		case 'S':
			if isSimple(inner.body) {
				return inner.body
			}
			return "bash -c " + single(text)
		case 'L':
			return oneLine(text)
		case 'Z':
			return double(oneLine(text))
		case 'J':
			return awkString(text)
		case 'H':
			return hexString(text)
		case 'M':
			return strings.ReplaceAll(oneLine(text), "$", "$$")
		}
		panic(fmt.Sprintf("unknown mark @%c in %q", m, template))
	}, c.quote)
	var needed strings.Builder
	for _, b := range c.before {
		needed.WriteString(b + "; ")
	}
	c.before = nil
	return fragment{before + needed.String(), body}
}

var (
	quotes = regexp.MustCompile(`'[^']*'|"[^"]*"`)
	meta   = regexp.MustCompile("[|;&<>(){}\n`#]|^[A-Za-z_]+=|^!")
)

// isSimple reports whether a command looks like words alone.
func isSimple(body string) bool {
	name := command.FindString(body)
	return !meta.MatchString(quotes.ReplaceAllString(body, "")) && !keywords[name]
}
