package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"writ/internal/hook/guardfile"
	"writ/internal/hook/install"
	"writ/internal/hook/lists"
	"writ/internal/hook/setup"
	"writ/internal/hook/spool"
)

// guardFile checks the file that hooks trust.
func (e *examination) guardFile() {
	guard, err := guardfile.Read(e.Guard())
	if err != nil {
		fix := initAgain
		switch {
		case errors.Is(missing(e.Guard()), fs.ErrNotExist):
			fix = "run writ init gemini"
		case strings.Contains(err.Error(), "protected"):
			fix = "write absolute paths there, without ~, or take them out; init keeps what it finds there"
		}
		words := strings.TrimPrefix(err.Error(), "guard file ")
		e.add("guard file", Failed, strings.TrimSuffix(words, "; "+fix), fix) // each is said once
		return
	}
	e.guard = guard
	if guard.Mode == guardfile.Monitor {
		e.add("guard file", Failed, monitored, "run writ init gemini --monitor=false")
		return
	}
	if guard.Manifest != "" {
		if _, err := lists.Read(guard.Manifest); err != nil {
			e.add("guard file", Failed,
				fmt.Sprintf("the manifest %s cannot be read, so that no tool runs: %v", guard.Manifest, err),
				"mend it (writ manifest validate), or run writ init gemini --manifest none")
			return
		}
	}
	e.add("guard file", OK, e.Guard()+", agent "+guard.Agent, "")
}

func missing(path string) error {
	_, err := os.Lstat(path)
	return err
}

// programs checks that what hooks start is there, and that nobody else can replace it.
func (e *examination) programs() {
	if e.guard == nil {
		e.add("programs", Skipped, "the guard file says which", "")
		return
	}
	client := filepath.Join(filepath.Dir(e.guard.Writ), "writ-client")
	for _, path := range []string{e.guard.Writ, client, e.guard.PlanServer} {
		info, err := os.Stat(path)
		switch {
		case err != nil || !info.Mode().IsRegular():
			e.add("programs", Failed, path+" is missing, so that no tool runs",
				"install writ, writ-client and writ-plan in one folder; then "+initAgain)
			return
		case info.Mode().Perm()&0o111 == 0:
			e.add("programs", Failed, path+" cannot be started, so that no tool runs", "chmod 755 "+path)
			return
		case info.Mode().Perm()&0o022 != 0:
			e.add("programs", Failed, "others may replace "+path, "chmod go-w "+path)
			return
		}
	}
	if !e.shellCopy() {
		return
	}
	e.add("programs", OK, "in "+filepath.Dir(e.guard.Writ), "")
}

// shellCopy checks the program that stands for the host's shell.
func (e *examination) shellCopy() bool {
	path := setup.Shell(e.guard)
	if path == "" {
		return true
	}
	text, err := os.ReadFile(path)
	info, statErr := os.Lstat(path)
	if err != nil || statErr != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o755 {
		e.add("programs", Failed, path+", in which the host runs hooks, is missing or not as writ init has made it: "+
			"the variables of a project's .env can switch hooks off", initAgain)
		return false
	}
	if writ, err := os.ReadFile(e.guard.Writ); err != nil || !bytes.Equal(writ, text) {
		e.add("programs", Warning, path+", in which the host runs hooks, is of another version than "+e.guard.Writ,
			initAgain)
		return false
	}
	if writ, err := os.Stat(e.guard.Writ); err != nil || !writ.ModTime().Equal(info.ModTime()) {
		e.add("programs", Warning, path+", in which the host runs hooks, does not answer by itself: "+e.guard.Writ+
			" has another time, and is started for each hook", initAgain)
		return false
	}
	return true
}

// extension checks that the host loads our extension as it was written.
func (e *examination) extension() {
	if e.guard == nil {
		e.add("extension", Skipped, "the guard file says what it must hold", "")
		return
	}
	files := setup.Extension(e.guard)
	for name, want := range files {
		text, err := os.ReadFile(filepath.Join(e.Extension(), filepath.FromSlash(name)))
		if err != nil || string(text) != want {
			e.add("extension", Failed, filepath.Join(e.Extension(), name)+
				" is missing or not as this version of writ writes it", initAgain)
			return
		}
	}
	if strange := install.Strangers(e.Extension(), files); len(strange) > 0 {
		e.add("extension", Failed, strange[0]+" is not part of the extension, and the host may read it", initAgain)
		return
	}
	if rule := e.disabledExtension(); rule != "" {
		e.add("extension", Failed, "it is switched off here ("+rule+"), so that no plan can be registered",
			"run gemini extensions enable "+setup.Name)
		return
	}
	e.add("extension", OK, e.Extension(), "")
}

// disabledExtension is the rule of the host by which our extension is off in this project; empty: it is on.
func (e *examination) disabledExtension() (off string) {
	text, err := os.ReadFile(filepath.Join(e.Extensions(), "extension-enablement.json"))
	if err != nil {
		return ""
	}
	var rules map[string]struct{ Overrides []string }
	if setup.Decode(string(text), &rules) != nil {
		return "" // the host takes none from it either
	}
	here := strings.TrimSuffix(filepath.ToSlash(e.Project), "/") + "/"
	for _, rule := range rules[setup.Name].Overrides {
		pattern, isOff := strings.CutPrefix(rule, "!")
		below, wide := strings.CutSuffix(pattern, "*")
		if pattern != here && !(wide && strings.HasPrefix(here, strings.TrimSuffix(below, "/")+"/")) {
			continue
		}
		if off = ""; isOff {
			off = "extension-enablement.json: " + rule
		}
	}
	return off
}

// modes checks who else may change what steers hooks.
func (e *examination) modes() {
	paths := []string{e.Gemini, e.Settings(), e.Writ, e.Extension()}
	if e.guard != nil {
		paths = append(paths, e.guard.StateDir, filepath.Dir(e.guard.Writ))
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err == nil && info.Mode().Perm()&0o022 != 0 {
			e.add("file modes", Failed, "others may write "+path, "chmod go-w "+path)
			return
		}
	}
	for _, path := range []string{e.Writ, e.State()} {
		info, err := os.Stat(path)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			e.add("file modes", Failed, "others may read "+path+", so that hooks refuse it", "chmod 700 "+path)
			return
		}
	}
	e.add("file modes", OK, "nobody else may write what steers hooks", "")
}

// spool checks whether reports and traces come through.
func (e *examination) spool() {
	if e.guard == nil || !exists(e.guard.StateDir) {
		e.add("spool", OK, "nothing waits", "")
		return
	}
	s, err := spool.Open(e.guard.StateDir, e.guard.Server+e.guard.Key, time.Now)
	if err != nil {
		e.add("spool", Failed, err.Error(), "chmod -R go= "+e.guard.StateDir)
		return
	}
	waiting, err := s.Waiting()
	lost := s.Dropped()
	switch {
	case err != nil:
		e.add("spool", Failed, err.Error(), "chmod -R go= "+e.guard.StateDir)
	case lost > 0:
		e.add("spool", Warning, fmt.Sprintf("%d reports and traces were lost before they could be sent", lost),
			"find out why the server was away for long; the log has findings for calls without a report")
	case waiting > 0:
		e.add("spool", Warning, fmt.Sprintf("%d reports and traces wait to be sent", waiting),
			"they are sent by the next session that reaches the server")
	default:
		e.add("spool", OK, "nothing waits", "")
	}
}
