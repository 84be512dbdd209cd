package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
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

// shells are those that programs can write completions for, and the ends of the files' names.
var shells = map[string]string{"bash": ".bash", "zsh": ".zsh", "fish": ".fish"}

// writeHelp has the programs write their manual pages and completions.
func (r *release) writeHelp(ctx context.Context) error {
	completions, man := filepath.Join(r.helpFolder(), "completions"), filepath.Join(r.helpFolder(), "man")
	for _, folder := range []string{completions, man} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	for name, path := range map[string]string{"writ": "writ-client", "writd": "writd"} {
		program := r.program(host(), path)
		for shell, end := range shells {
			text, err := exec.CommandContext(ctx, program, "completion", shell).Output()
			if err != nil {
				return fmt.Errorf("%s completion %s: %w", name, shell, err)
			}
			if err := os.WriteFile(filepath.Join(completions, name+end), text, 0o644); err != nil {
				return err
			}
		}
		if err := writeManual(ctx, program, man); err != nil {
			return fmt.Errorf("the manual of %s: %w", name, err)
		}
	}
	return nil
}

// writeManual writes the manual pages of a program that has them.
func writeManual(ctx context.Context, program, folder string) error {
	help, err := exec.CommandContext(ctx, program, "help", "--help").Output()
	if err != nil || !strings.Contains(string(help), "--man") {
		return err
	}
	return exec.CommandContext(ctx, program, "help", "--man", folder).Run()
}
