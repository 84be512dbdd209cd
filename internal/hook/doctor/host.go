package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The versions that the hooks are tested with.
const (
	oldestHost = "0.60.0"
	newestHost = "0.61"
	oldestNode = 20
)

// host checks that the Gemini CLI can be started here, and that it is one whose hooks we know.
func (e *examination) host() {
	e.hostProgram()
	e.node()
	e.shell()
}

func (e *examination) hostProgram() {
	version, path, err := HostVersion(e.Look)
	switch {
	case err != nil:
		e.add("host", Failed, "gemini is not on PATH", "npm install -g @google/gemini-cli")
	case version == "":
		e.add("host", Warning, path+" does not say its version", "npm install -g @google/gemini-cli")
	case older(version, oldestHost):
		e.add("host", Failed, fmt.Sprintf("version %s of the Gemini CLI is older than %s, with which hooks are tested",
			version, oldestHost), "npm install -g @google/gemini-cli")
	case !older(version, newestHost+".99"):
		e.add("host", Warning, fmt.Sprintf("version %s of the Gemini CLI is newer than %s, with which hooks are tested",
			version, newestHost), "look for a newer version of writ")
	default:
		e.add("host", OK, "Gemini CLI "+version+" ("+path+")", "")
	}
}

// HostVersion finds the Gemini CLI, and its version without starting it. An empty version is not known.
func HostVersion(look func(string) (string, error)) (version, path string, err error) {
	if path, err = look("gemini"); err != nil {
		return "", "", err
	}
	folder := filepath.Dir(real(path))
	for range 3 {
		var about struct{ Name, Version string }
		text, err := os.ReadFile(filepath.Join(folder, "package.json"))
		if err == nil && json.Unmarshal(text, &about) == nil && about.Name == "@google/gemini-cli" {
			return about.Version, path, nil
		}
		folder = filepath.Dir(folder)
	}
	return output(path, "--version"), path, nil
}

// output is the first line that a program prints; empty: it failed.
func output(program string, args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	command.WaitDelay = time.Second
	text, err := command.Output()
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return strings.TrimSpace(line)
}

// older reports whether a version comes before another. What is no number counts as 0.
func older(version, than string) bool {
	a, b := numbers(version), numbers(than)
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

func numbers(version string) (parts [3]int) {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "-")
	for i, part := range strings.SplitN(version, ".", 3) {
		parts[i], _ = strconv.Atoi(part)
	}
	return parts
}

func (e *examination) node() {
	const fix = "install Node 20 or later: https://nodejs.org"
	path, err := e.Look("node")
	if err != nil {
		e.add("node", Failed, "node is not on PATH, which the Gemini CLI needs", fix)
		return
	}
	version := output(path, "--version")
	if numbers(version)[0] < oldestNode {
		e.add("node", Failed, fmt.Sprintf("Node %s is older than %d, which the Gemini CLI needs", version, oldestNode),
			fix)
		return
	}
	e.add("node", OK, "Node "+version, "")
}

// shell checks for the shell that the host runs hooks in.
func (e *examination) shell() {
	path, err := e.Look("bash")
	if err != nil {
		e.add("shell", Failed, "bash is not on PATH, in which the host runs hooks",
			"install bash")
		return
	}
	e.add("shell", OK, path, "")
}
