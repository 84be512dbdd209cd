package profile

import (
	"fmt"
	"path"
	"regexp/syntax"
	"slices"
	"strings"
)

// The arguments in which tools are told which file to work on.
var (
	pathNames = []string{"file_path", "filePath", "absolute_path", "notebook_path", "dir_path", "path", "target_file"}
	// manyPaths are arguments that name files in a form that is not read here: a
	// list, patterns, a patch. With one of them the path is not known.
	manyPaths = []string{"paths", "include", "files", "file_paths", "patch", "input", "edits_by_file"}
)

// overPaths asks about every path of the call, as it is written and as it is
// after cleaning.
func (s *Statement) overPaths(c *Condition) string {
	names, many := list(pathNames), list(manyPaths)
	if s.restricts() {
		return fmt.Sprintf("!args.exists(k, v, k in %s) || args.exists(k, v, k in %s || k in %s && (%s))", names, many,
			names, s.testPath(c)+s.searches(c))
	}
	return fmt.Sprintf("args.exists(k, v, k in %s) && args.all(k, v, !(k in %s) && (!(k in %s) || %s))", names, many,
		names, s.testPath(c))
}

// searches adds that a search reads all files below what it names. Only where its
// path looks like a file is what it reads known.
func (s *Statement) searches(c *Condition) string {
	if c.Op == opWorkspace ||
		!slices.ContainsFunc(s.Action.Names, func(name string) bool {
			t := find(name)
			return t != nil && t.name == "Grep"
		}) {
		return ""
	}
	return fmt.Sprintf(` || tool.lowerAscii() in %s && !path(v).base.matches("[^.]\\.\\w+$")`,
		list(restricted([]string{"Grep"})))
}

// testPath asks about one path, v. What is no text fails, as a path that cannot be
// read does.
func (s *Statement) testPath(c *Condition) string {
	switch {
	case c.Op == opWorkspace && (c.Bool == nil || *c.Bool):
		return `path(v).within(".")`
	case c.Op == opWorkspace:
		return `!path(v).within(".")`
	case c.Op == opFile && !s.restricts():
		return "path(v).clean == " + quote(c.Values[0])
	case c.Op == opFile || c.Op == opFolder:
		return s.testFolder(c.Values[0])
	case s.restricts() && c.negated():
		return fmt.Sprintf("%s || %s", compare(c, "path(v).clean", false), compare(c, "v", false))
	case s.restricts():
		return c.mayBe()
	case c.negated():
		return "!(" + c.positive().mayBe() + ")"
	}
	return fmt.Sprintf("%s && %s", compare(c, "path(v).clean", false), compare(c, "v", false))
}

// testFolder asks whether a path lies in a folder. Where an absolute folder meets a
// relative path, only the agent's own folder could tell: that counts against it.
func (s *Statement) testFolder(folder string) string {
	within := fmt.Sprintf("path(v).within(%s)", quote(folder))
	if s.restricts() && strings.HasPrefix(folder, "/") {
		return within + ` || !path(v).within("/")`
	}
	return within
}

// positive is a condition of which this one is the opposite.
func (c *Condition) positive() *Condition {
	opposite := *c
	opposite.Op = map[string]string{opNot: opMatches, opNotIn: opIn}[c.Op]
	return &opposite
}

// mayBe asks whether a path may be one of those that are meant. Some systems do not
// tell large letters from small. Where the agent works is not known: an absolute
// path may be any relative one that it ends in, and a path that leaves its start
// may be any at all. Only a pattern that does not ask where a path begins is sure
// about that too.
func (c *Condition) mayBe() string {
	climbs := `path(v).clean.matches("^\\.\\.(/|$)")`
	if c.Op == opMatches {
		return c.mayMatch(climbs)
	}
	values, below := c.pathValues()
	subjects := []string{"path(v).clean.lowerAscii()", "v.lowerAscii()"}
	folded := &Condition{Op: c.Op, Values: values}
	var parts []string
	for _, subject := range subjects {
		if c.Op == opStarts {
			parts = append(parts, fmt.Sprintf("%s.exists(x, %s.startsWith(x))", list(values), subject))
			continue
		}
		folded.Op = opIn
		parts = append(parts, compare(folded, subject, false))
	}
	if len(below) > 0 {
		ends := "endsWith"
		if c.Op == opStarts {
			ends = "contains"
		}
		parts = append(parts, fmt.Sprintf(`%s.startsWith("/") && %s.exists(x, %s.%s(x))`, subjects[0], list(below),
			subjects[0], ends))
	}
	return strings.Join(append(parts, climbs), " || ")
}

// pathValues are the condition's values in small letters, as they are written and
// without what means nothing in a path; and those that are relative, as they stand
// within an absolute path.
func (c *Condition) pathValues() (values, below []string) {
	for _, value := range c.Values {
		value = strings.ToLower(value)
		values = append(values, value)
		plain := path.Clean(value)
		for _, home := range []string{"~/", "$home/", "${home}/"} {
			plain = strings.TrimPrefix(plain, home)
		}
		if c.Op == opStarts && strings.HasSuffix(value, "/") && plain != "/" {
			plain += "/" // not what only begins alike
		}
		values = append(values, plain)
		if !strings.HasPrefix(plain, "/") {
			below = append(below, "/"+plain)
		}
	}
	slices.Sort(values)
	return slices.Compact(values), below
}

// mayMatch is mayBe for a pattern.
func (c *Condition) mayMatch(climbs string) string {
	pattern := "(?i)" + c.Values[0]
	test := fmt.Sprintf("path(v).clean.matches(%s) || v.matches(%s)", quote(pattern), quote(pattern))
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return test // it was parsed before, or is refused when it is compiled
	}
	if !beginnings(tree) {
		return test
	}
	return fmt.Sprintf(`%s || path(v).clean.startsWith("/") && path(v).clean.matches(%s) || %s`, test,
		quote(tree.String()), climbs)
}

// beginnings has a pattern take the beginning of any part of a path for the
// beginning of the text. It tells whether there was such a place that did not.
func beginnings(tree *syntax.Regexp) (changed bool) {
	if isBeginning(tree) {
		begin, slash := *tree, &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{'/'}}
		*tree = syntax.Regexp{Op: syntax.OpAlternate, Sub: []*syntax.Regexp{&begin, slash}}
		return true
	}
	anywhere := tree.Op == syntax.OpAlternate && slices.ContainsFunc(tree.Sub, isSlash) // (^|/) does already
	for _, part := range tree.Sub {
		if !(anywhere && isBeginning(part)) && beginnings(part) {
			changed = true
		}
	}
	return changed
}

func isBeginning(tree *syntax.Regexp) bool {
	return tree.Op == syntax.OpBeginText || tree.Op == syntax.OpBeginLine
}

func isSlash(tree *syntax.Regexp) bool {
	return tree.Op == syntax.OpLiteral && string(tree.Rune) == "/"
}
