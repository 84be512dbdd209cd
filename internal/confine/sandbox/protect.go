package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// protectedNames steer programs that later run outside: what is written into them would
// escape. They are read-only in each writable directory.
var protectedNames = []string{
	".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir", ".git/modules", ".husky",
	".gemini", ".claude", ".codex", ".cursor", ".agents", ".writ", ".mcp.json",
	".vscode", ".idea", ".devcontainer", ".envrc",
}

// Change is what happened to a protected path: it appeared, changed or was removed.
type Change struct {
	Path   string `json:"path"`
	Change string `json:"change"`
}

// protectedPaths are those inside the writable directories. A directory that is writable
// by its own name is what the caller asked for.
func protectedPaths(write, named []string) []string {
	var paths []string
	for _, dir := range write {
		for _, name := range protectedNames {
			paths = append(paths, filepath.Join(dir, name))
			if parent, rest := filepath.Split(name); filepath.Base(dir)+"/" == parent {
				paths = append(paths, filepath.Join(dir, rest))
			}
		}
		if info, err := os.Lstat(filepath.Join(dir, ".git")); err == nil && !info.IsDir() {
			paths = append(paths, filepath.Join(dir, ".git"))
		}
	}
	for _, path := range named {
		if slices.ContainsFunc(write, func(dir string) bool { return within(path, dir) }) {
			paths = append(paths, path)
		}
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return slices.Contains(write, path) })
	slices.Sort(paths)
	return slices.Compact(paths)
}

// maxWatched bounds how many files are looked at below a protected path.
const maxWatched = 20_000

// watch remembers the state of paths: "" is absent.
func watch(paths []string) map[string]string {
	states := make(map[string]string, len(paths))
	for _, path := range paths {
		states[path] = stateOf(path)
	}
	return states
}

// stateOf digests the names, kinds, sizes and times of a path and of all below it. The
// times include that of the last change of the inode, which no program can set.
func stateOf(path string) string {
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
	if _, statErr := os.Lstat(path); statErr != nil || err != nil {
		return ""
	}
	return hex.EncodeToString(digest.Sum(nil))
}

// changesSince compares the present state of paths with the remembered one.
func changesSince(before map[string]string) []Change {
	changes := []Change{}
	for path, was := range before {
		switch is := stateOf(path); {
		case was == is:
		case was == "":
			changes = append(changes, Change{Path: path, Change: "appeared"})
		case is == "":
			changes = append(changes, Change{Path: path, Change: "removed"})
		default:
			changes = append(changes, Change{Path: path, Change: "changed"})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return changes
}
