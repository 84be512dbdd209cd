package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Change is what happened to a protected path: it appeared, changed or was removed.
type Change struct {
	Path     string `json:"path"`
	Change   string `json:"change"`
	SetAside string `json:"setAside,omitempty"` // the name that a path got which must not appear
	Expected bool   `json:"expected,omitempty"` // git made it with a new repository
}

// watched is a protected path that the kernel does not hold, as it was before the command.
type watched struct {
	path     string
	state    string   // "" is absent
	root     *os.Root // the writable directory around it, which the command may have replaced since
	below    string   // its name in there
	expected bool     // it may appear
}

// watch remembers the state of paths inside writable directories.
func watch(paths, write []string) []watched {
	roots := map[string]*os.Root{}
	list := make([]watched, 0, len(paths))
	for _, path := range paths {
		w := watched{path: path, state: stateOf(path)}
		for _, dir := range write {
			if !within(path, dir) {
				continue
			}
			if _, open := roots[dir]; !open {
				roots[dir], _ = os.OpenRoot(dir) // nothing can appear below a file
			}
			w.root, w.below = roots[dir], strings.TrimPrefix(path, dir+"/")
		}
		if _, err := os.Lstat(filepath.Dir(path)); err != nil {
			made := func(name string) bool { return strings.HasSuffix(path, "/"+name) }
			w.expected = slices.ContainsFunc(newRepository, made)
		}
		list = append(list, w)
	}
	return list
}

// changes compares the present state of paths with the remembered one, and sets aside what appeared: nothing outside
// must find it.
func changes(before []watched) []Change {
	list := []Change{}
	for _, w := range before {
		change := Change{Path: w.path}
		switch is := stateOf(w.path); {
		case w.state == is, w.state == "" && isRepository(w.path):
			continue
		case w.state == "":
			change.Change, change.Expected = "appeared", w.expected
			if !w.expected {
				change.SetAside = w.setAside()
			}
		case is == "":
			change.Change = "removed"
		default:
			change.Change = "changed"
		}
		list = append(list, change)
	}
	slices.SortFunc(list, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return list
}

// isRepository reports whether a path is the directory of a repository, whose parts are watched by their own names.
func isRepository(path string) bool {
	info, err := os.Lstat(path)
	return filepath.Base(path) == ".git" && err == nil && info.IsDir()
}

// setAside gives a path a name without a meaning, and returns it; "" is none. It is not removed, because somebody else
// may have made it meanwhile.
func (w watched) setAside() string {
	if w.root == nil {
		return ""
	}
	mark := fmt.Sprintf(".refused-%08x", rand.Uint32())
	if err := w.root.Rename(w.below, w.below+mark); err != nil {
		return ""
	}
	return w.path + mark
}

// maxWatched bounds how many files are looked at below a protected path.
const maxWatched = 20_000

// stateOf digests the names, kinds, sizes and times of a path and of all below it. The
// times include that of the last change of the inode, which no program can set.
func stateOf(path string) string {
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	digest, seen := sha256.New(), 0
	err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			fmt.Fprintf(digest, "%s: unreadable\n", name)
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return nil
		}
		fmt.Fprintf(digest, "%s\x00%v\x00%d\x00%s\n", name, info.Mode(), info.Size(), identity(info))
		if seen++; seen > maxWatched {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return ""
	}
	return hex.EncodeToString(digest.Sum(nil))
}
