package sandbox

import (
	"os"
	"path/filepath"
	"slices"
)

// protectedNames steer programs that later run outside: what is written into them would
// escape. They are read-only in each writable directory.
var protectedNames = []string{
	".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir", ".git/modules", ".husky",
	".gemini", ".claude", ".codex", ".cursor", ".agents", ".writ", ".mcp.json",
	".vscode", ".idea", ".devcontainer", ".envrc",
}

// newRepository are those among them that git makes with a repository.
var newRepository = []string{".git/hooks", ".git/config", ".git/modules"}

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
		// A file leads git elsewhere. One that is absent may become a directory, and no file.
		if info, err := os.Lstat(filepath.Join(dir, ".git")); err != nil || !info.IsDir() {
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
