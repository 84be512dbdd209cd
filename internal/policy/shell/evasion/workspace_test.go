package evasion

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// workspaceScript makes the workspace: files of every kind that carriers need, and a
// repository with a branch whose tree has links to the outside.
const workspaceScript = `
set -e
export GIT_AUTHOR_DATE='1100000000 +0000' GIT_COMMITTER_DATE='1100000000 +0000'
mkdir -p src docs empty
printf 'one\ntwo\nthree\n' > a.txt
printf 'one\n2\nthree\n' > b.txt
printf 'id,name\n1,x\n2,y\n' > data.csv
printf '{"a": 1, "b": [2]}\n' > data.json
printf 'package main\n\nfunc main() {}\n' > src/main.go
printf 'int main(void) { return 0; }\n' > src/main.c
printf '# Title\n' > docs/index.md
printf 'all:\n\t@echo built\n' > Makefile
printf -- '--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-one\n+uno\n' > fix.patch
printf '%s\n' ../other/canary > outside.list
printf '%s\n' a.txt > inside.list
git init -q --template= -b main .
git config user.name dev
git config user.email dev@example.com
git add -A
git commit -qm first
git checkout -q -b links
ln -s .. up
ln -s ../other out
ln -s ../other/canary l
git add -A
git commit -qm links
git checkout -q main
ln -s .. up
ln -s ../other out
tar cf links.tar up out
rm up out
tar cf plain.tar docs
gzip -k data.csv
`

func makeWorkspace() error {
	command := exec.Command("/bin/bash", "-c", workspaceScript)
	command.Dir, command.Env = workspace, environment
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("make the workspace: %w: %s", err, out)
	}
	return nil
}

// readTree reads a tree by its relative paths.
func readTree(root string) (map[string]file, error) {
	tree := map[string]file{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		f := file{mode: info.Mode()}
		switch {
		case f.mode&fs.ModeSymlink != 0:
			f.content, err = os.Readlink(path)
		case f.mode.IsRegular():
			var text []byte
			text, err = os.ReadFile(path)
			f.content = string(text)
		}
		relative, relativeErr := filepath.Rel(root, path)
		tree[relative] = f
		return errors.Join(err, relativeErr)
	})
	return tree, err
}

// repairTree makes the changed paths below root what the tree says.
func repairTree(root string, tree map[string]file, changed []string) error {
	slices.Sort(changed) // directories before what is in them
	if err := os.Chmod(root, 0o755); err != nil {
		return err
	}
	for _, path := range changed {
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		f, wanted := tree[name]
		if name == "." {
			continue
		}
		if info, err := os.Lstat(path); wanted && err == nil && f.mode.IsDir() && info.IsDir() {
			err = os.Chmod(path, f.mode.Perm())
			if err != nil {
				return err
			}
			continue
		}
		if err := remove(path); err != nil {
			return err
		}
		if !wanted {
			continue
		}
		if err := f.put(path); err != nil {
			return err
		}
	}
	return nil
}

func (f file) put(path string) error {
	switch {
	case f.mode.IsDir():
		return os.Mkdir(path, f.mode.Perm())
	case f.mode&fs.ModeSymlink != 0:
		return os.Symlink(f.content, path)
	}
	return os.WriteFile(path, []byte(f.content), f.mode.Perm())
}
