package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestClientsAreBuilt builds both clients twice, of files of other times: as installers take them, with their licence,
// in the checksums, and in the same bytes.
func TestClientsAreBuilt(t *testing.T) {
	var sums []string
	for _, at := range []time.Time{time.Unix(1, 0), time.Now()} {
		r := release{source: clientSource(t, at), out: t.TempDir(), time: time.Unix(1_900_000_000, 0).UTC()}
		if err := errors.Join(r.writeClients(t.Context()), r.writeSums()); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"package/LICENSE", "package/README.md", "package/package.json", "package/dist/index.d.ts",
			"package/dist/index.js",
		}
		if got := tarNames(t, filepath.Join(r.out, "writ-client-0.1.0.tgz")); !slices.Equal(got, want) {
			t.Errorf("the tarball has %v, want %v", got, want)
		}
		got := wheelNames(t, filepath.Join(r.out, "writ_client-0.1.0-py3-none-any.whl"))
		for _, name := range []string{
			"writ_client/__init__.py", "writ_client/py.typed", "writ_client-0.1.0.dist-info/LICENSE",
			"writ_client-0.1.0.dist-info/METADATA", "writ_client-0.1.0.dist-info/RECORD",
		} {
			if !slices.Contains(got, name) {
				t.Errorf("the wheel has %v, and not %s", got, name)
			}
		}
		sums = append(sums, string(read(t, filepath.Join(r.out, "SHA256SUMS"))))
	}
	if sums[0] != sums[1] || strings.Count(sums[0], "\n") != 2 {
		t.Errorf("two builds of the same clients:\n%s\n%s", sums[0], sums[1])
	}
}

// TestClientMustBeCompiled: a tarball without its code would install, and fail where it is used.
func TestClientMustBeCompiled(t *testing.T) {
	source := clientSource(t, time.Now())
	if err := os.Remove(filepath.Join(source, "clients", "typescript", "dist", "index.js")); err != nil {
		t.Fatal(err)
	}
	r := release{source: source, out: t.TempDir()}
	if err := r.writeClients(t.Context()); err == nil || !strings.Contains(err.Error(), "scripts/clients pack") {
		t.Errorf("a client that is not compiled: %v", err)
	}
}

// clientSource is a folder with the clients of this repository, as if the compiler had run; its files are of a time.
func clientSource(t *testing.T, at time.Time) string {
	t.Helper()
	folder := t.TempDir()
	texts := map[string]string{
		"clients/typescript/dist/index.js": "code", "clients/typescript/dist/index.d.ts": "types",
	}
	for _, name := range []string{
		"LICENSE", "clients/typescript/package.json", "clients/typescript/README.md",
		"clients/python/build_backend.py", "clients/python/pyproject.toml", "clients/python/README.md",
		"clients/python/writ_client/__init__.py", "clients/python/writ_client/py.typed",
	} {
		texts[name] = string(read(t, filepath.Join("..", name)))
	}
	for name, text := range texts {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, text)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func tarNames(t *testing.T, path string) (names []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(unpacked); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, header.Name)
	}
}

// wheelNames are the files of a wheel. None is compressed, because each Python does that in its own way.
func wheelNames(t *testing.T, path string) (names []string) {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	for _, f := range archive.File {
		if f.Method != zip.Store {
			t.Errorf("%s is compressed", f.Name)
		}
		names = append(names, f.Name)
	}
	return names
}
