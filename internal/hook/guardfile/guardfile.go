// Package guardfile reads the guard file: which server decides about a coding agent's calls on this machine, and how.
//
// Hooks and the plan server trust this file and nothing else on the machine. Its path is in the command that the host
// starts. The environment does not count, because a project can set it.
package guardfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Version is the only version of guard files.
const Version = 1

// The modes.
const (
	Enforce = "enforce" // what is not allowed does not run
	Monitor = "monitor" // it runs, and is recorded
)

// Limits of the file.
const (
	maxSize         = 64 << 10
	maxApprovalWait = 600 // seconds
	maxAnswer       = 60  // seconds
	maxEntries      = 256
)

// usualAnswer is how long one answer may take where the file does not say it.
const usualAnswer = 5 * time.Second

// File is a guard file.
type File struct {
	Version      int      `json:"version"`
	Server       string   `json:"server"` // https://writ.example.org
	Key          string   `json:"key"`
	Organization string   `json:"organization"`
	Agent        string   `json:"agent"`
	Host         string   `json:"host"`     // gemini
	Manifest     string   `json:"manifest"` // empty: none
	Mode         string   `json:"mode"`
	ApprovalWait int      `json:"approvalWaitSeconds"`     // how long a call waits for a person
	Answer       int      `json:"answerSeconds,omitempty"` // how long the server may take for one answer; 0: 5 s
	CarryPlan    bool     `json:"carryPlan"`               // a plan holds beyond its turn, if the organization permits
	StateDir     string   `json:"stateDir"`
	Writ         string   `json:"writ"`
	PlanServer   string   `json:"planServer"`
	Capabilities []string `json:"capabilities"`
	Protected    []string `json:"protected"` // more paths that no tool may write

	path string
}

// Path is where the file was read.
func (f *File) Path() string { return f.path }

// Client is the program that answers the events which writ itself does not.
func (f *File) Client() string { return filepath.Join(filepath.Dir(f.Writ), "writ-client") }

// Wait is how long a call waits for a person.
func (f *File) Wait() time.Duration { return time.Duration(f.ApprovalWait) * time.Second }

// AnswerLimit is how long the server may take for one answer, and the host to pass what a hook reads.
func (f *File) AnswerLimit() time.Duration {
	if f.Answer == 0 {
		return usualAnswer
	}
	return time.Duration(f.Answer) * time.Second
}

// DefaultPath is where the file is unless the command line names another. A project can set XDG_CONFIG_HOME for the
// host, so that where it is set the command line must name the file.
func DefaultPath() (string, error) {
	if os.Getenv("XDG_CONFIG_HOME") != "" {
		return "", errors.New("state --config: XDG_CONFIG_HOME is set, and does not count here")
	}
	folder, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("state --config: %w", err)
	}
	return filepath.Join(folder, "writ", "guard.json"), nil
}

// Read reads a guard file that belongs to the user alone. Errors show nothing of its content.
func Read(path string) (*File, error) {
	if !filepath.IsAbs(path) {
		return nil, errors.New("the path of the guard file must be absolute")
	}
	text, err := readPrivate(path)
	if err != nil {
		return nil, fmt.Errorf("guard file %s: %w", path, err)
	}
	f := &File{path: path}
	if err := f.parse(text); err != nil {
		return nil, fmt.Errorf("guard file %s: %w; run writ init gemini again", path, err)
	}
	return f, nil
}

func readPrivate(path string) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, errors.New("cannot be found or read; run writ init gemini")
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("must be a file, and no link")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, errors.New("cannot be read")
	}
	defer file.Close()
	opened, err := file.Stat()
	if err != nil || !os.SameFile(info, opened) {
		return nil, errors.New("changed while it was read")
	}
	if err := checkOwner(opened); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err != nil || len(text) > maxSize {
		return nil, fmt.Errorf("cannot be read, or has more than %d KiB", maxSize>>10)
	}
	return text, nil
}

func (f *File) parse(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(f); err != nil {
		return errors.New("is no JSON object with the members of a guard file")
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errors.New("has something behind its object")
	}
	return f.check()
}

func (f *File) check() error {
	switch {
	case f.Version != Version:
		return fmt.Errorf("version: must be %d", Version)
	case !isServer(f.Server):
		return errors.New("server: must be an http or https address without user, query and fragment")
	case f.Key == "" || len(f.Key) > 4096 || strings.ContainsFunc(f.Key, notKey):
		return errors.New("key: must be an API key")
	case f.Agent == "" || len(f.Agent) > 200 || len(f.Organization) > 200:
		return errors.New("agent: must be named")
	case f.Host != "gemini":
		return errors.New("host: must be gemini")
	case f.Mode != Enforce && f.Mode != Monitor:
		return errors.New("mode: must be enforce or monitor")
	case f.ApprovalWait < 0 || f.ApprovalWait > maxApprovalWait:
		return fmt.Errorf("approvalWaitSeconds: must be from 0 to %d", maxApprovalWait)
	case f.Answer < 0 || f.Answer > maxAnswer:
		return fmt.Errorf("answerSeconds: must be from 1 to %d", maxAnswer)
	case len(f.Capabilities) > maxEntries || len(f.Protected) > maxEntries:
		return fmt.Errorf("capabilities and protected: must have at most %d entries", maxEntries)
	}
	return f.checkPaths()
}

func (f *File) checkPaths() error {
	for _, place := range []struct{ name, path string }{
		{"stateDir", f.StateDir}, {"writ", f.Writ}, {"planServer", f.PlanServer},
	} {
		if !filepath.IsAbs(place.path) {
			return fmt.Errorf("%s: must be an absolute path", place.name)
		}
	}
	if f.Manifest != "" && !filepath.IsAbs(f.Manifest) {
		return errors.New("manifest: must be an absolute path, or empty")
	}
	for _, path := range f.Protected {
		if !filepath.IsAbs(path) {
			return errors.New("protected: must be absolute paths")
		}
	}
	return nil
}

func notKey(r rune) bool { return r <= ' ' || r > '~' }

// isServer reads an address without net/url, which is more than this needs.
func isServer(address string) bool {
	rest, ok := strings.CutPrefix(address, "https://")
	if !ok {
		rest, ok = strings.CutPrefix(address, "http://")
	}
	host, _, _ := strings.Cut(rest, "/")
	return ok && host != "" && len(address) <= 2000 && !strings.ContainsAny(rest, "@?#\\%") &&
		!strings.ContainsFunc(address, notKey)
}
