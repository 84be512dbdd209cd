package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goreleaser/nfpm/v2/files"
)

// documents are the files of the repository that every archive and package has, beside the folders below.
var documents = []string{
	"LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "ARCHITECTURE.md", "CONTRIBUTING.md",
}

// folders are given whole, so that what the pages lead to is there: the pages, what they run and show, and the clients
// as source, because they are in no registry.
var folders = []string{"docs", "examples", "deploy", "actions", "client", "clients", "testdata/enforcement", verifiers}

// verifiers are the programs by which auditors check evidence without ours, which our tests use too.
const verifiers = "test/evidence"

// unshipped are names of folders that are built or installed, serve our own tests, or hold secrets.
var unshipped = []string{"node_modules", "dist", "out", "__pycache__", ".venv", "test", "tests", "secrets"}

// moduleName is the file by which Go takes the folder for a module, so that agents can import the client from it.
const moduleName = "go.mod"

// texts are what people read and copy, by their names in an archive.
func (r *release) texts() ([]file, error) {
	texts := []file{{moduleName, 0o644, filepath.Join(r.work, moduleName)}}
	if err := r.writeModule(); err != nil {
		return nil, err
	}
	for _, name := range documents {
		texts = append(texts, file{name, 0o644, filepath.Join(r.source, name)})
	}
	names, err := r.sources()
	slices.Sort(names)
	for _, name := range names {
		if !shipped(name) {
			continue
		}
		at := filepath.Join(r.source, filepath.FromSlash(name))
		if info, err := os.Lstat(at); err != nil || !info.Mode().IsRegular() {
			return nil, errors.Join(err, fmt.Errorf("%s is given to everybody, and is no file", name))
		}
		texts = append(texts, file{name, 0o644, at})
	}
	return texts, err
}

// sources are the files of the folders. In a repository they are those that it has: our own pages have people put a
// master key beside them. Elsewhere they are all: the folder was made of a repository.
func (r *release) sources() (names []string, err error) {
	if _, err := os.Stat(filepath.Join(r.source, ".git")); err == nil {
		return r.tracked()
	}
	for _, folder := range folders {
		err = errors.Join(err, filepath.WalkDir(filepath.Join(r.source, folder),
			func(at string, entry os.DirEntry, err error) error {
				if err != nil || entry.IsDir() {
					return err
				}
				name, err := filepath.Rel(r.source, at)
				names = append(names, filepath.ToSlash(name))
				return err
			}))
	}
	return names, err
}

// tracked are the files of the folders that the repository has.
func (r *release) tracked() ([]string, error) {
	list := exec.Command("git", append([]string{"-C", r.source, "ls-files", "-z", "--"}, folders...)...)
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the files of the repository: %w", err)
	}
	names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	if len(names) < len(folders) {
		return nil, errors.New("the repository has not all files that are given away")
	}
	return names, nil
}

// shipped leaves out tests of ours, what was built or installed, what running the pages leaves behind, and the secrets
// that they have people make.
func shipped(name string) bool {
	parts := strings.Split(strings.TrimPrefix(name, verifiers+"/"), "/")
	folders, last := parts[:len(parts)-1], parts[len(parts)-1]
	if slices.ContainsFunc(folders, func(folder string) bool { return slices.Contains(unshipped, folder) }) {
		return false
	}
	left := []string{"agent.txt", "trace.txt", "secret.yaml"}
	return !strings.HasSuffix(last, "_test.go") && !slices.Contains(left, last)
}

// writeModule writes a go.mod without the server's dependencies: the client needs none.
func (r *release) writeModule() error {
	text, err := os.ReadFile(filepath.Join(r.source, moduleName))
	if err != nil {
		return err
	}
	var kept strings.Builder
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "module ") || strings.HasPrefix(line, "go ") {
			kept.WriteString(line)
		}
	}
	return os.WriteFile(filepath.Join(r.work, moduleName), []byte(kept.String()), 0o644)
}

// documentFolder is where packages put what people read.
const documentFolder = "/usr/share/doc/writ/"

// textContents are the texts of a package.
func (r *release) textContents() (contents files.Contents, err error) {
	texts, err := r.texts()
	for _, text := range texts {
		contents = append(contents, &files.Content{
			Source: text.from, Destination: documentFolder + text.name,
			FileInfo: &files.ContentFileInfo{Mode: os.FileMode(text.mode)},
		})
	}
	return contents, err
}
