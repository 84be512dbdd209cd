package main

import (
	"os"
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
var folders = []string{"docs", "examples", "deploy", "actions", "client", "clients", "testdata/enforcement"}

// unshipped are names of folders that are built or installed, or serve our own tests.
var unshipped = []string{"node_modules", "dist", "out", "__pycache__", ".venv", "test", "tests"}

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
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(r.source, folder), func(at string, entry os.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && slices.Contains(unshipped, entry.Name()):
				return filepath.SkipDir
			case entry.IsDir() || !shipped(entry.Name()):
				return nil
			}
			name, err := filepath.Rel(r.source, at)
			texts = append(texts, file{filepath.ToSlash(name), 0o644, at})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// shipped leaves out tests of ours, and what running the pages leaves behind.
func shipped(name string) bool {
	return !strings.HasSuffix(name, "_test.go") && name != "agent.txt" && name != "trace.txt"
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
