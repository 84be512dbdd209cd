package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // packagers register themselves
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// numbered matches versions that package managers can compare.
var numbered = regexp.MustCompile(`^v?\d+\.\d+`)

// packageVersion is the version for package managers. Builds between tags are older than every release.
func (r *release) packageVersion() string {
	if numbered.MatchString(r.version) {
		return r.version
	}
	return fmt.Sprintf("0.0.0~%s.%s", r.time.Format("20060102150405"), r.version)
}

// writePackage writes a .deb or .rpm, as deploy/linux/nfpm.yaml describes it.
func (r *release) writePackage(p platform, kind string) error {
	values := map[string]string{
		"ARCH": p.arch, "VERSION": r.packageVersion(), "SOURCE": r.source,
		"PROGRAMS": filepath.Join(r.work, p.String()), "LICENCES": filepath.Join(r.out, licencesName),
	}
	config, err := nfpm.ParseFileWithEnvMapping(filepath.Join(r.source, "deploy/linux/nfpm.yaml"),
		func(name string) string { return values[name] })
	if err != nil {
		return err
	}
	info, err := config.Get(kind)
	if err != nil {
		return err
	}
	info.MTime = r.time
	info.Scripts.PostInstall = filepath.Join(r.source, info.Scripts.PostInstall)
	info.Scripts.PreRemove = filepath.Join(r.source, info.Scripts.PreRemove)
	info.Scripts.PostRemove = filepath.Join(r.source, info.Scripts.PostRemove)
	help, err := r.helpContents(kind)
	if err != nil {
		return err
	}
	info.Contents = append(info.Contents, help...)
	for _, content := range info.Contents {
		if content.FileInfo != nil {
			content.FileInfo.MTime = r.time // else the file's own, which differs from checkout to checkout
		}
	}
	info = nfpm.WithDefaults(info)
	if err := nfpm.PrepareForPackager(info, kind); err != nil {
		return err
	}
	packager, err := nfpm.Get(kind)
	if err != nil {
		return err
	}
	name := filepath.Join(r.out, packager.ConventionalFileName(info))
	if _, err := os.Stat(name); err == nil {
		return fmt.Errorf("%s exists", name)
	}
	return create(name, func(w io.Writer) error { return packager.Package(info, w) })
}

// helpContents puts the manual pages and completions where systems look for them, and the texts where people do.
func (r *release) helpContents(kind string) (files.Contents, error) {
	contents, err := r.textContents()
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(r.helpFolder(), func(at string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		to := helpPlace(kind, filepath.Base(filepath.Dir(at)), entry.Name())
		contents = append(contents, &files.Content{
			Source: at, Destination: to, FileInfo: &files.ContentFileInfo{Mode: 0o644},
		})
		return nil
	})
	return contents, err
}

// helpPlace is where systems with packages of that kind look for a manual page or a completion.
func helpPlace(kind, folder, name string) string {
	switch {
	case folder != "completions":
		return "/usr/share/man/" + folder + "/" + name
	case strings.HasPrefix(name, "_") && kind == "rpm":
		return "/usr/share/zsh/site-functions/" + name
	case strings.HasPrefix(name, "_"):
		return "/usr/share/zsh/vendor-completions/" + name
	case strings.HasSuffix(name, ".fish"):
		return "/usr/share/fish/vendor_completions.d/" + name
	}
	return "/usr/share/bash-completion/completions/" + strings.TrimSuffix(name, ".bash")
}
