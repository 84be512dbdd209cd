package confine

import (
	"path"
	"slices"
	"strings"
)

// CheckPath reports what is wrong with an entry of Write or Read.
func CheckPath(entry string) error { return checkPath(entry) }

// Intersect is what both limits permit, and never more than either of them. Nobody knows yet where the
// workspace and the home are: a read-only path of one side that may lie in what both may write is protected.
func (l Limits) Intersect(other Limits) Limits {
	both := Limits{
		Write: commonPaths(l.Write, other.Write),
		Read:  commonPaths(l.readable(), other.readable()),
	}
	readOnly := func(p string) bool { return !l.mayWrite(p) || !other.mayWrite(p) }
	both.Write = slices.DeleteFunc(both.Write, func(p string) bool {
		return readOnly(p) || l.mayForbid(p) || other.mayForbid(p)
	})
	listed := slices.Concat(l.readOnly(), other.readOnly())
	all := slices.Clone(both.Read)
	both.Read = slices.DeleteFunc(both.Read, func(p string) bool {
		above := func(q string) bool { return q != p && isBelow(p, q) }
		return isBelowAny(p, both.Write) && !readOnly(p) ||
			!slices.Contains(listed, p) && slices.ContainsFunc(all, above)
	})
	for _, host := range l.Net {
		if slices.Contains(other.Net, host) {
			both.Net = append(both.Net, host)
		}
	}
	both.Net = sorted(both.Net)
	both.Protect = sorted(slices.DeleteFunc(listed, func(p string) bool {
		return slices.Contains(both.Read, p) || !both.mayHold(p) && !isBelowAny(p, both.Write)
	}))
	return both
}

// mayHold reports whether a path may turn out to lie inside a writable directory: one of them is absolute and the other
// begins with workspace or ~, or they begin with different words.
func (l Limits) mayHold(p string) bool {
	return slices.ContainsFunc(l.Write, func(dir string) bool { return p != "/" && anchor(p) != anchor(dir) })
}

// mayForbid reports whether a read-only path may turn out to lie between a path and the writable directory around it.
func (l Limits) mayForbid(p string) bool {
	if slices.Contains(l.Write, p) {
		return false
	}
	for dir := p; !slices.Contains(l.Write, dir) && dir != "." && dir != "/"; dir = path.Dir(dir) {
		if slices.ContainsFunc(l.readOnly(), func(q string) bool { return mayBe(q, dir) }) {
			return true
		}
	}
	return false
}

// mayBe reports whether two paths that are relative to different places may be the same: their ends agree.
func mayBe(p, q string) bool {
	first, second := p[len(anchor(p)):], q[len(anchor(q)):]
	return anchor(p) != anchor(q) && (strings.HasSuffix(first, second) || strings.HasSuffix(second, first))
}

// anchor is what a path is relative to: "" is the root.
func anchor(p string) string {
	first, _, _ := strings.Cut(p, "/")
	return first
}

// Within reports whether the limits permit nothing that the others do not.
func (l Limits) Within(others Limits) bool {
	outside := func(p string) bool { return !isBelowAny(p, others.readable()) }
	widens := func(p string) bool { return l.mayWrite(p) && (!others.mayWrite(p) || others.mayForbid(p)) }
	loses := func(p string) bool {
		return l.mayHold(p) && !slices.Contains(l.readOnly(), p) && !slices.Contains(others.Write, p)
	}
	return !slices.ContainsFunc(l.Write, widens) && !slices.ContainsFunc(others.readOnly(), widens) &&
		!slices.ContainsFunc(others.Protect, loses) &&
		!slices.ContainsFunc(l.Read, outside) &&
		!slices.ContainsFunc(l.Net, func(host string) bool { return !slices.Contains(others.Net, host) })
}

// mayWrite reports whether a path may be changed: of the directories that hold it, the innermost counts.
func (l Limits) mayWrite(p string) bool {
	innermost := func(of []string) int {
		longest := -1
		for _, dir := range of {
			if isBelow(p, dir) {
				longest = max(longest, len(strings.TrimPrefix(dir, "/"))) // the root is outside of all others
			}
		}
		return longest
	}
	write := innermost(l.Write)
	return write >= 0 && write >= innermost(l.readOnly())
}

// readOnly are the directories that may not be changed where they lie inside writable ones. One that is writable by its
// own name is not among them.
func (l Limits) readOnly() []string {
	return slices.DeleteFunc(slices.Concat(l.Read, l.Protect), func(p string) bool {
		return slices.Contains(l.Write, p)
	})
}

// readable are the directories that a command may read: what it may write as well.
func (l Limits) readable() []string { return slices.Concat(l.Read, l.Write) }

// commonPaths are the directories below one of each list: of two, of which one holds the other, the inner one.
func commonPaths(a, b []string) []string {
	var common []string
	for _, x := range a {
		for _, y := range b {
			switch {
			case isBelow(x, y):
				common = append(common, x)
			case isBelow(y, x):
				common = append(common, y)
			}
		}
	}
	return sorted(common)
}

func sorted(items []string) []string {
	slices.Sort(items)
	return slices.Compact(items)
}

// isBelow reports whether a path is another one or below it, as far as their texts tell: where the workspace and the
// home are is unknown, but they are below the root.
func isBelow(p, of string) bool { return p == of || of == "/" || strings.HasPrefix(p, of+"/") }

func isBelowAny(p string, of []string) bool {
	return slices.ContainsFunc(of, func(outer string) bool { return isBelow(p, outer) })
}

// String is the limits in the words of a policy, between braces.
func (l Limits) String() string {
	net := "none"
	if len(l.Net) > 0 {
		net = "[" + strings.Join(l.Net, ", ") + "]"
	}
	text := "write: [" + strings.Join(l.Write, ", ") + "], read: [" + strings.Join(l.Read, ", ") + "], net: " + net
	if len(l.Protect) > 0 {
		text += ", protect: [" + strings.Join(l.Protect, ", ") + "]"
	}
	return text
}
