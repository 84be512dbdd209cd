package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// writeClients writes the clients of agents as their installers take them: a tarball for npm and a wheel for pip. They
// are in no registry, and have versions of their own.
func (r *release) writeClients(ctx context.Context) error {
	if err := r.writeTarball(); err != nil {
		return fmt.Errorf("the client for TypeScript: %w", err)
	}
	wheel := exec.CommandContext(ctx, "python3", filepath.Join("clients", "python", "build_backend.py"), r.out)
	wheel.Dir, wheel.Stderr = r.source, os.Stderr
	if err := wheel.Run(); err != nil {
		return fmt.Errorf("the client for Python: %w", err)
	}
	return nil
}

// writeTarball packs what the compiler has made of the client for TypeScript. npm would pack it too, but other bytes
// with each version of npm.
func (r *release) writeTarball() error {
	source := filepath.Join(r.source, "clients", "typescript")
	name, err := tarballName(filepath.Join(source, "package.json"))
	if err != nil {
		return err
	}
	files := []file{
		{"LICENSE", 0o644, filepath.Join(r.source, "LICENSE")},
		{"README.md", 0o644, filepath.Join(source, "README.md")},
		{"package.json", 0o644, filepath.Join(source, "package.json")},
	}
	compiled, err := filesBelow(filepath.Join(source, "dist"))
	if err != nil || !slices.ContainsFunc(compiled, func(f file) bool { return f.name == "index.js" }) {
		return errors.Join(err, errors.New("it is not compiled: run scripts/clients pack"))
	}
	for _, f := range compiled {
		files = append(files, file{"dist/" + f.name, f.mode, f.from})
	}
	return create(filepath.Join(r.out, name), func(w io.Writer) error {
		packed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		return errors.Join(writeTar(packed, "package", files, r.time), packed.Close())
	})
}

// tarballName is how npm names the tarball of a package: writ-client-0.1.0.tgz of @writ/client.
func tarballName(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var client struct{ Name, Version string }
	if err := json.Unmarshal(text, &client); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	if client.Name == "" || client.Version == "" {
		return "", fmt.Errorf("%s has no name or no version", path)
	}
	return strings.ReplaceAll(strings.TrimPrefix(client.Name, "@"), "/", "-") + "-" + client.Version + ".tgz", nil
}
