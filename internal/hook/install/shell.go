package install

import (
	"crypto/rand"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"writ/internal/hook/guardfile"
	"writ/internal/hook/private"
	"writ/internal/hook/setup"
)

// PutShell puts the program that stands for the host's shell where hooks look for it, if it is not there, and reports
// whether it did. It must be static: what is linked dynamically obeys variables that a project can set.
func PutShell(guard *guardfile.File) (changed bool, err error) {
	path := setup.Shell(guard)
	if path == "" {
		return false, nil
	}
	if err := checkShell(guard.Writ); err != nil {
		return false, err
	}
	text, err := os.ReadFile(guard.Writ)
	if err != nil {
		return false, fmt.Errorf("copy writ: %w", err)
	}
	if same(path, string(text), 0o755) {
		return false, keepTime(path, guard.Writ)
	}
	if err := private.Folder(filepath.Dir(path)); err != nil {
		return false, err
	}
	return true, errors.Join(putProgram(path, text), keepTime(path, guard.Writ))
}

// checkShell refuses a program that cannot stand for the host's shell.
func checkShell(writ string) error {
	if isDynamic(writ) {
		return fmt.Errorf("%s is linked dynamically: build it with CGO_ENABLED=0", writ)
	}
	return nil
}

// keepTime gives the copy the time of the program. By size and time the copy knows that it is one, and answers itself.
func keepTime(path, program string) error {
	info, err := os.Stat(program)
	if err != nil {
		return private.WithoutPath(err)
	}
	if had, err := os.Stat(path); err == nil && had.ModTime().Equal(info.ModTime()) {
		return nil
	}
	return private.WithoutPath(os.Chtimes(path, info.ModTime(), info.ModTime()))
}

// putProgram replaces a program in one step: one that runs goes on.
func putProgram(path string, text []byte) error {
	unfinished := path + "-" + rand.Text() + ".tmp"
	file, err := os.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return private.WithoutPath(err)
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Chmod(0o755), file.Sync(), file.Close()); err == nil {
		err = os.Rename(unfinished, path)
	}
	if err != nil {
		_ = os.Remove(unfinished)
	}
	return private.WithoutPath(err)
}

// isDynamic reports whether a program of Linux is started by a loader.
func isDynamic(path string) bool {
	file, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP {
			return true
		}
	}
	return false
}

// shell puts the host's shell into its place.
func (w *writer) shell(guard *guardfile.File) {
	if w.err != nil {
		return
	}
	w.remember(setup.Shell(guard))
	changed, err := PutShell(guard)
	if err != nil {
		w.err = fmt.Errorf("%s: %w", setup.Shell(guard), err)
	} else if changed {
		w.changes = append(w.changes, setup.Shell(guard))
	}
}
