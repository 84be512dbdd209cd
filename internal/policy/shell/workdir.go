package shell

import (
	"path"
	"slices"
	"strings"
)

// workdir is the directory that a command may run in, given the cds before it. Without
// && a cd may have failed, so there can be several.
type workdir struct {
	dirs  []string // relative to where the whole command starts, or absolute
	lost  bool     // it may be any directory
	moved bool     // there was a cd
	into  []string // where the last cd leads
}

// cd goes to a directory, or stays if that does not exist.
func (p workdir) cd(to arg) workdir {
	text := to.text()
	if to.glob || text == "" || text == "-" || strings.HasPrefix(text, "~+") || strings.HasPrefix(text, "~-") {
		p.lost = true
		return p
	}
	p.lost = p.lost || !to.exact
	p.moved, p.into = true, nil
	for _, dir := range p.dirs {
		for _, target := range to.alternatives {
			p.into = append(p.into, join(dir, target))
		}
	}
	into := p.into
	p = p.or(workdir{dirs: into})
	p.moved, p.into = true, into
	return p
}

func (p workdir) arrived() workdir {
	if p.moved && !p.lost {
		p.dirs = unique(p.into)
		if len(p.dirs) > maxDirs {
			p.dirs, p.lost = p.dirs[:maxDirs], true
		}
	}
	p.moved, p.into = false, nil
	return p
}

// or is one of two places.
func (p workdir) or(q workdir) workdir {
	p.lost = p.lost || q.lost
	p.moved, p.into = false, nil
	for _, dir := range q.dirs {
		switch {
		case slices.Contains(p.dirs, dir):
		case len(p.dirs) == maxDirs:
			p.lost = true
		default:
			p.dirs = append(slices.Clip(p.dirs), dir)
		}
	}
	return p
}

// join is the cleaned path of a name in a directory.
func join(dir, name string) string {
	if name == "." {
		return dir // it is clean
	}
	if !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "~") && dir != "." {
		name = dir + "/" + name
	}
	return clean(name)
}

// clean is path.Clean that keeps ~: what is above the home directory is unknown, so
// ~/../x is not x.
func clean(name string) string {
	below := strings.TrimPrefix(name, "./")
	if below != "" && below[0] != '.' && below[0] != '~' && below[len(below)-1] != '/' &&
		!strings.Contains(name, "//") && !strings.Contains(below, "/.") {
		return below // as most are
	}
	home, rest, ok := strings.Cut(name, "/")
	if !strings.HasPrefix(home, "~") || !ok {
		return path.Clean(name)
	}
	if rest = path.Clean(rest + "/."); rest == "." || rest == "/" {
		return home
	}
	return home + "/" + strings.TrimLeft(rest, "/")
}
