package profile

import (
	"fmt"
	"path"
	"regexp/syntax"
	"slices"
	"strings"
)

var (
	// pathNames are the arguments that name the file to work on.
	pathNames = []string{"file_path", "filePath", "absolute_path", "notebook_path", "dir_path", "path", "target_file"}
	// manyPaths are arguments that name files in a form that we do not read: a list,
	// patterns, a patch. With one of them the path is unknown.
	manyPaths = []string{"paths", "include", "files", "file_paths", "patch", "input", "edits_by_file"}
)

// overPaths tests every path of the call, as written and cleaned.
func (s *Statement) overPaths(c *Condition) string {
	names, many := list(pathNames), list(manyPaths)
	if s.restricts() {
		return fmt.Sprintf("!args.exists(k, v, k in %s) || args.exists(k, v, k in %s || k in %s && (%s))", names, many,
			names, s.testPath(c)+s.searches(c))
	}
	return fmt.Sprintf("args.exists(k, v, k in %s) && args.all(k, v, !(k in %s) && (!(k in %s) || %s))", names, many,
		names, s.testPath(c))
}

// searches adds that a search reads all files below its path. What it reads is known
// only if the path looks like a file.
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

// testPath tests one path, v. It fails if v is not text or cannot be read as a path.
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

// testFolder tests whether a path is in a folder. For a relative path and an absolute
// folder that depends on where the agent runs, which counts against the call.
func (s *Statement) testFolder(folder string) string {
	within := fmt.Sprintf("path(v).within(%s)", quote(folder))
	if s.restricts() && strings.HasPrefix(folder, "/") {
		return within + ` || !path(v).within("/")`
	}
	return within
}

func (c *Condition) positive() *Condition {
	opposite := *c
	opposite.Op = map[string]string{opNot: opMatches, opNotIn: opIn}[c.Op]
	return &opposite
}

// mayBe tests whether a path may be one of the values. Some systems ignore case.
// Because we do not know where the agent runs, an absolute path may be any relative
// one that it ends in, and a path that begins with .. may be any path. Only a pattern
// that does not depend on where a path begins is certain about those too.
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

// pathValues are the condition's values in lower case, as written and cleaned. Below
// are the relative ones as they end an absolute path.
func (c *Condition) pathValues() (values, below []string) {
	for _, value := range c.Values {
		value = strings.ToLower(value)
		values = append(values, value)
		plain := path.Clean(value)
		for _, home := range []string{"~/", "$home/", "${home}/"} {
			plain = strings.TrimPrefix(plain, home)
		}
		if c.Op == opStarts && strings.HasSuffix(value, "/") && plain != "/" {
			plain += "/" // "a/" is not the beginning of "ab"
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
		return test // the compiler refuses it
	}
	if !beginnings(tree) {
		return test
	}
	return fmt.Sprintf(`%s || path(v).clean.startsWith("/") && path(v).clean.matches(%s) || %s`, test,
		quote(tree.String()), climbs)
}

// beginnings makes a pattern match at the beginning of any component of a path, where
// it matched only at the beginning of the text. It reports whether that changed it.
func beginnings(tree *syntax.Regexp) (changed bool) {
	if isBeginning(tree) {
		begin, slash := *tree, &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune{'/'}}
		*tree = syntax.Regexp{Op: syntax.OpAlternate, Sub: []*syntax.Regexp{&begin, slash}}
		return true
	}
	anywhere := tree.Op == syntax.OpAlternate && slices.ContainsFunc(tree.Sub, isSlash) // (^|/) does so already
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
