package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
)

// programs are what a release consists of.
var programs = []string{"writd", "writ", "writ-client", "writ-plan"}

func host() platform { return platform{runtime.GOOS, runtime.GOARCH} }

// program is the path of a program that was built.
func (r *release) program(p platform, name string) string {
	if p.os == "windows" {
		name += ".exe"
	}
	return filepath.Join(r.work, p.String(), name)
}

// build builds the programs for a platform: static, and the same wherever and whenever they are built.
func (r *release) build(ctx context.Context, p platform) error {
	for _, name := range programs {
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly",
			"-ldflags", "-s -w -buildid= -X writ/internal/cli.Version="+r.version,
			"-o", r.program(p, name), "./cmd/"+name)
		cmd.Dir, cmd.Stdout, cmd.Stderr = r.source, os.Stderr, os.Stderr
		// What a developer has set for other builds must not change this one.
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off",
			"GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0")
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("build %s for %s: %w", name, p, err)
		}
	}
	return nil
}

// helpFolder has the manual pages and the completions.
func (r *release) helpFolder() string { return filepath.Join(r.work, "help") }

// shells are those that programs can write completions for, and how they name the files.
var shells = map[string]string{"bash": "%s.bash", "zsh": "_%s", "fish": "%s.fish"}

// writeHelp has the programs write their manual pages and completions: man1/ and completions/.
func (r *release) writeHelp(ctx context.Context) error {
	completions := filepath.Join(r.helpFolder(), "completions")
	if err := os.MkdirAll(completions, 0o755); err != nil {
		return err
	}
	for name, path := range map[string]string{"writ": "writ-client", "writd": "writd"} {
		program := r.program(host(), path)
		if err := writeManual(ctx, program, r.helpFolder()); err != nil {
			return err
		}
		for shell, form := range shells {
			text, err := exec.CommandContext(ctx, program, "completion", shell).Output()
			if err != nil {
				return fmt.Errorf("%s completion %s: %w", name, shell, err)
			}
			if err := os.WriteFile(filepath.Join(completions, fmt.Sprintf(form, name)), text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasManual matches the line of the help that lists the command which writes manual pages.
var hasManual = regexp.MustCompile(`(?m)^  man +[A-Z]`)

// writeManual has a program that can write manual pages do so.
func writeManual(ctx context.Context, program, folder string) error {
	help, err := exec.CommandContext(ctx, program, "--help").Output()
	if err != nil || !hasManual.Match(help) {
		return err
	}
	if err := exec.CommandContext(ctx, program, "man", folder).Run(); err != nil {
		return fmt.Errorf("%s man: %w", filepath.Base(program), err)
	}
	return nil
}
