package evasion

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fuzzed are the programs that get options at random.
var fuzzed = strings.Fields(`
	ar awk b2sum base32 base64 basename basenc bash bzip2 cat cd chmod chown cksum cmp col column comm command cp csplit curl
	cut date dd declare df diff diff3 dir dirname du echo ed egrep env expand export expr file find fmt fold gcc git go gofmt
	grep gunzip gzip head hexdump hostname iconv id install join jq less link ln ls make md5sum mkdir mkfifo mktemp mv nice nl
	nm nohup numfmt objdump od openssl paste patch perl pr printenv printf ps ptx pushd pwd python3 readelf readlink realpath
	rev rm rmdir sed seq set sha1sum sha256sum shuf sleep sort split sqlite3 stat strings sum tac tail tar tee test timeout
	touch tr tree true truncate tsort type uname unexpand uniq unlink unset unzip wc wget which xargs xxd xz yes zcat zip`)

// gitCommands stand before the options of git.
var gitCommands = strings.Fields(`
	add am apply archive bisect blame branch bundle cat-file check-ignore checkout cherry-pick clean clone commit config
	describe diff diff-tree fetch format-patch gc grep hash-object init log ls-files ls-remote ls-tree merge merge-base mv
	notes pull push range-diff rebase reflog remote reset restore rev-list rev-parse revert rm shortlog show show-ref
	stash status submodule switch tag update-index worktree`)

var longOption = regexp.MustCompile(`(?:^|[\s,\[|])--(\[no-\])?([a-z][a-z0-9-]+)(=|\[=| <|\[)?`)

// readOptions asks the programs of the sandbox for their long options.
func readOptions(t *testing.T) map[string][]string {
	t.Helper()
	var asked []string
	for _, p := range fuzzed {
		if p != "git" {
			asked = append(asked, p+" --help")
		}
	}
	for _, c := range gitCommands {
		asked = append(asked, "git "+c+" -h")
	}
	options := map[string][]string{}
	runAll(t, len(asked), nil, func(i int) order { return bash(asked[i] + " < /dev/null") }, func(i int, o outcome) {
		name := asked[i][:strings.LastIndex(asked[i], " ")]
		for _, m := range longOption.FindAllStringSubmatch(o.Output, -1) {
			options[name] = append(options[name], m[2])
		}
		slices.Sort(options[name])
		options[name] = slices.Compact(options[name])
	})
	return options
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// fuzz gives a program options and operands at random, among them the target.
func (c *composition) fuzz(file, directory string) string {
	name := c.programs[c.r.IntN(len(c.programs))]
	if name == "git" || c.r.IntN(8) == 0 {
		name = "git " + gitCommands[c.r.IntN(len(gitCommands))]
	}
	words := []string{}
	for range c.r.IntN(4) {
		words = append(words, c.option(name, file, directory))
	}
	for range c.r.IntN(3) {
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
	operands := []string{file, file, file, directory, "a.txt", "a.txt", "b.txt", "src", ".", "1", "-", "HEAD", "s/o/x/", "p"}
	return operands[c.r.IntN(len(operands))]
}

// option is one option in one of its forms, with or without a value.
func (c *composition) option(name, file, directory string) string {
	value := c.operand(file, directory)
	long := c.options[name]
	if len(long) == 0 || c.r.IntN(2) == 0 {
		letter := string(letters[c.r.IntN(len(letters))])
		second := string(letters[c.r.IntN(len(letters))])
		return []string{"-" + letter, "-" + letter + second, "-" + letter + value, "-" + letter + " " + value,
			"-" + letter + second + " " + value, "--", "-" + letter + "=" + value}[c.r.IntN(7)]
	}
	option := long[c.r.IntN(len(long))]
	if c.r.IntN(4) == 0 {
		option = option[:1+c.r.IntN(len(option))]
	}
	return "--" + option + []string{"", "=" + value, " " + value, "=" + value}[c.r.IntN(4)]
}
