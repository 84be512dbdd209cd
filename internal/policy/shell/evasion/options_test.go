package evasion

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// option is one that a program is said to have.
type option struct {
	name  string
	value bool
}

var (
	describedOption = regexp.MustCompile(`^(--?[A-Za-z0-9#.][A-Za-z0-9#.-]*)(=|\[)?`)
	letters         = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	// longHelp finds options in the help of a program, described or not.
	longHelp = regexp.MustCompile(`(?:^|[\s,\[|])--(?:\[no-\])?([a-z][a-z0-9-]+)`)
)

// readDescriptions reads which options package shell knows of each program, from its own
// files: what it knows it may call plain, so that is where to try hardest.
func readDescriptions() (map[string][]option, error) {
	files, err := filepath.Glob("../programs/*.txt")
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("find the descriptions: %d files, %w", len(files), err)
	}
	known, uses := map[string][]option{}, map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var names []string
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			switch {
			case len(fields) == 0 || strings.HasPrefix(line, "#"):
			case !strings.HasPrefix(line, " "):
				names = names[:0]
				for name := range strings.SplitSeq(line, ",") {
					names = append(names, strings.TrimSpace(name))
					known[names[len(names)-1]] = nil
				}
			default:
				for _, name := range names {
					if fields[0] == "use" {
						uses[name] = append(uses[name], fields[1:]...)
					}
					known[name] = append(known[name], optionsOf(fields)...)
				}
			}
		}
	}
	for name, sets := range uses {
		for _, set := range sets {
			known[name] = append(known[name], known[set]...)
		}
	}
	maps.DeleteFunc(known, func(name string, _ []option) bool { return strings.HasPrefix(name, "@") })
	return known, nil
}

// optionsOf reads the options in a line of a description. Letters may stand together.
func optionsOf(fields []string) (found []option) {
	for _, field := range fields {
		m := describedOption.FindStringSubmatch(field)
		if m == nil {
			continue
		}
		if name := m[1]; !strings.HasPrefix(name, "--") && m[2] == "" {
			for _, letter := range name[1:] {
				found = append(found, option{"-" + string(letter), false})
			}
		} else {
			found = append(found, option{name, m[2] != ""})
		}
	}
	return found
}

// installed holds what readOptions found, for all tests.
var installed = struct {
	sync.Mutex
	options map[string][]option
}{}

// programOptions are the options of the described programs that the sandbox has.
func programOptions(t *testing.T) map[string][]option {
	t.Helper()
	installed.Lock()
	defer installed.Unlock()
	if installed.options == nil {
		installed.options = readOptions(t)
	}
	return installed.options
}

// slow are programs that take long to start, or wait for a person. They run code and are
// never plain, so random options for them show little; carriers use them.
var slow = strings.Fields("docker kubectl node nodejs npm npx pnpm yarn vi vim view watch less more man top")

// readOptions finds out which described programs the sandbox has, and what further long
// options these admit to.
func readOptions(t *testing.T) map[string][]option {
	t.Helper()
	described, err := readDescriptions()
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(described, func(name string, _ []option) bool {
		first, _, _ := strings.Cut(name, " ")
		return slices.Contains(slow, first)
	})
	names := slices.Sorted(maps.Keys(described))
	known := map[string][]option{}
	ask := func(i int) order {
		first, _, _ := strings.Cut(names[i], " ")
		return bash(fmt.Sprintf("type %s > /dev/null 2>&1 || exit 9; [[ $(type -t %s) == file ]] || exit 0; %s --help",
			first, first, names[i]))
	}
	runAll(t, len(names), nil, ask, func(i int, o outcome) {
		if o.Exit == 9 || o.TimedOut {
			return
		}
		options := described[names[i]]
		for _, m := range longHelp.FindAllStringSubmatch(o.Output, 60) {
			options = append(options, option{"--" + m[1], true})
		}
		known[names[i]] = options
	})
	return known
}

// fuzz gives a program options and operands at random, among them the target.
func (c *composition) fuzz(file, directory string) string {
	name := c.programs[c.r.IntN(len(c.programs))]
	words := []string{}
	for range c.r.IntN(4) {
		words = append(words, c.option(name, file, directory))
	}
	for range c.r.IntN(4) {
		words = append(words, c.operand(file, directory))
	}
	if c.r.IntN(3) == 0 { // options after operands
		c.r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	}
	text := strings.Join(append([]string{name}, words...), " ")
	if c.r.IntN(6) == 0 {
		text += " < a.txt"
	}
	return text
}

func (c *composition) operand(file, directory string) string {
	operands := []string{
		file, file, file, directory, "a.txt", "a.txt", "b.txt", "src", ".", "1", "-", "HEAD", "links", "s/o/x/", "p",
		"new.txt",
	}
	return operands[c.r.IntN(len(operands))]
}

// option is one option in one of its forms, with or without a value.
func (c *composition) option(name, file, directory string) string {
	value := c.operand(file, directory)
	options := c.options[name]
	if len(options) == 0 || c.r.IntN(10) == 0 {
		letter := "-" + string(letters[c.r.IntN(len(letters))])
		return letter + []string{"", value, " " + value, "=" + value}[c.r.IntN(4)]
	}
	o := options[c.r.IntN(len(options))]
	if strings.HasPrefix(o.name, "--") {
		if c.r.IntN(5) == 0 {
			o.name = o.name[:3+c.r.IntN(len(o.name)-2)]
		}
		forms := []string{"", "=" + value, " " + value}
		if o.value {
			forms = forms[1:]
		}
		return o.name + forms[c.r.IntN(len(forms))]
	}
	if second := options[c.r.IntN(len(options))]; c.r.IntN(3) == 0 && len(second.name) == 2 {
		o.name += second.name[1:]
		o.value = o.value || second.value
	}
	if !o.value && c.r.IntN(4) > 0 {
		return o.name
	}
	return o.name + []string{value, " " + value}[c.r.IntN(2)]
}
