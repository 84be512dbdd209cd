package shell

import (
	"path"
	"slices"
	"strings"
)

// place is where a command may be running, given the cds before it. Without &&
// a cd may have failed, so that a command can be in one of several directories.
type place struct {
	dirs  []string // relative to where the whole command starts, or absolute
	lost  bool     // it can also be anywhere
	moved bool     // a cd was seen; into holds where it leads
	into  []string
}

// cd goes to a directory, or stays where it does not exist.
func (p place) cd(to arg) place {
	if !to.exact || to.glob || to.text() == "-" || strings.HasPrefix(to.text(), "~+") ||
		strings.HasPrefix(to.text(), "~-") {
		p.lost = true
		return p
	}
	p.moved, p.into = true, nil
	for _, dir := range p.dirs {
		for _, target := range to.alternatives {
			p.into = append(p.into, join(dir, target))
		}
	}
	p.dirs = unique(append(slices.Clone(p.dirs), p.into...))
	if len(p.dirs) > maxDirs {
		p.dirs, p.lost = p.dirs[:maxDirs], true
	}
	return p
}

// arrived is the place after a cd that surely succeeded.
func (p place) arrived() place {
	if p.moved && !p.lost {
		p.dirs = unique(p.into)
	}
	p.moved, p.into = false, nil
	return p
}

// or is a place that is p or q.
func (p place) or(q place) place {
	p.dirs = unique(append(slices.Clone(p.dirs), q.dirs...))
	p.lost = p.lost || q.lost
	if len(p.dirs) > maxDirs {
		p.dirs, p.lost = p.dirs[:maxDirs], true
	}
	p.moved, p.into = false, nil
	return p
}

// join is a path as seen from a directory, cleaned.
func join(dir, name string) string {
	if !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "~") && dir != "." {
		name = dir + "/" + name
	}
	return clean(name)
}

// clean is path.Clean that leaves ~ alone: what lies above the home directory
// is unknown, so ~/../x is not x.
func clean(name string) string {
	home, rest, ok := strings.Cut(name, "/")
	if !strings.HasPrefix(home, "~") || !ok {
		return path.Clean(name)
	}
	if rest = path.Clean(rest + "/."); rest == "." || rest == "/" {
		return home
	}
	return home + "/" + strings.TrimLeft(rest, "/")
}
