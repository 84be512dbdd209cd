package main

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// part is something of other people that is inside the programs.
type part struct {
	kind    string // golang or npm, as in package URLs
	name    string
	version string
	folder  string // where its licence is
}

// partsOf lists what is inside the programs of all platforms: Go's library, the modules that were linked, and the
// packages that the dashboard was built from.
func (r *release) partsOf(ctx context.Context, platforms []platform) ([]part, error) {
	linked := map[string]string{} // version by path
	goVersion := ""
	for _, p := range platforms {
		for _, name := range programs {
			info, err := buildinfo.ReadFile(r.program(p, name))
			if err != nil {
				return nil, fmt.Errorf("read what is in %s: %w", name, err)
			}
			goVersion = info.GoVersion
			for _, module := range info.Deps {
				if module.Replace != nil {
					return nil, fmt.Errorf("%s is replaced, and its licence is not known", module.Path)
				}
				linked[module.Path] = module.Version
			}
		}
	}
	root, err := r.output(ctx, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	parts := []part{{"golang", "std", strings.TrimPrefix(goVersion, "go"), root}}
	modules, err := r.modules(ctx, linked)
	if err != nil {
		return nil, err
	}
	packages, err := r.packages()
	if err != nil {
		return nil, err
	}
	parts = append(append(parts, modules...), packages...)
	slices.SortFunc(parts, func(a, b part) int { return strings.Compare(a.kind+" "+a.name, b.kind+" "+b.name) })
	return parts, nil
}

// modules are the linked ones, with their folders in the module cache.
func (r *release) modules(ctx context.Context, linked map[string]string) ([]part, error) {
	args := []string{"list", "-m", "-f", "{{.Path}}\t{{.Version}}\t{{.Dir}}"}
	for path := range linked {
		args = append(args, path)
	}
	text, err := r.output(ctx, "go", args...)
	if err != nil {
		return nil, err
	}
	var modules []part
	for line := range strings.Lines(text) {
		columns := strings.Split(strings.TrimSpace(line), "\t")
		if len(columns) != 3 || linked[columns[0]] != columns[1] {
			return nil, fmt.Errorf("%q is not what was linked, or not in the module cache", line)
		}
		modules = append(modules, part{"golang", columns[0], columns[1], columns[2]})
	}
	return modules, nil
}

// packages are those of npm that the dashboard is built from, and the page that shows the API, which is a copy.
func (r *release) packages() ([]part, error) {
	web := filepath.Join(r.source, "web")
	text, err := os.ReadFile(filepath.Join(web, "package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version             string
			Dev, Optional, Peer bool
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, fmt.Errorf("package-lock.json: %w", err)
	}
	viewer, err := r.viewerVersion()
	if err != nil {
		return nil, err
	}
	parts := []part{{"npm", "swagger-ui-dist", viewer, filepath.Join(web, "swagger-ui")}}
	for at, p := range lock.Packages {
		_, name, found := cutLast(at, "node_modules/")
		if found && !p.Dev && !p.Optional && !p.Peer {
			parts = append(parts, part{"npm", name, p.Version, filepath.Join(web, filepath.FromSlash(at))})
		}
	}
	return parts, nil
}

func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

// viewerVersion is the version of the copy of Swagger UI, which the script that fetches it knows.
func (r *release) viewerVersion() (string, error) {
	script, err := os.ReadFile(filepath.Join(r.source, "scripts/swagger-ui"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(script)) {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "version="); ok {
			return version, nil
		}
	}
	return "", fmt.Errorf("scripts/swagger-ui says no version")
}
