package evasion

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// workspaceScript makes the workspace: files of every kind that carriers need, and a
// repository with a branch whose tree has links to the outside.
const workspaceScript = `
set -e
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

// writeTree makes root hold exactly the tree.
func writeTree(root string, tree map[string]file) error {
	if info, err := os.Lstat(root); err != nil || !info.IsDir() {
		if err := remove(root); err != nil {
			return err
		}
	}
	if err := errors.Join(os.MkdirAll(root, 0o755), os.Chmod(root, 0o755), clearDirectory(root)); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		f, path := tree[name], filepath.Join(root, name)
		var err error
		switch {
		case f.mode.IsDir():
			err = os.Mkdir(path, f.mode.Perm())
		case f.mode&fs.ModeSymlink != 0:
			err = os.Symlink(f.content, path)
		default:
			err = os.WriteFile(path, []byte(f.content), f.mode.Perm())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
