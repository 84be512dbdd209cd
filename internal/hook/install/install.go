// Package install has a machine's Gemini CLI guarded, and takes that away again: it writes the guard file, the
// extension and the hooks in the user's settings.
//
// Settings belong to the person. They are changed as text, in one step, after everything else is in place; what was
// inserted is recorded, so that they can become what they were, byte for byte.
package install

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"writ/internal/hook/guardfile"
	"writ/internal/hook/private"
	"writ/internal/hook/setup"
)

// Places are where things are on a machine.
type Places struct {
	Gemini string // the host's folder of the user: ~/.gemini
	Writ   string // our folder in the user's configuration
}

// Settings are the user's settings of the host.
func (p Places) Settings() string { return filepath.Join(p.Gemini, "settings.json") }

// Extensions are the user's extensions of the host.
func (p Places) Extensions() string { return filepath.Join(p.Gemini, "extensions") }

// Extension is ours.
func (p Places) Extension() string { return filepath.Join(p.Extensions(), setup.Name) }

// Guard is the guard file.
func (p Places) Guard() string { return filepath.Join(p.Writ, "guard.json") }

// State is where hooks keep their state.
func (p Places) State() string { return filepath.Join(p.Writ, "gemini") }

// Shell is the folder of the program that stands for the host's shell.
func (p Places) Shell() string { return filepath.Join(p.Writ, "shell") }

// Backup is a copy of the settings as they were before.
func (p Places) Backup() string { return filepath.Join(p.Writ, "gemini-settings.backup.json") }

func (p Places) record() string { return filepath.Join(p.Writ, "gemini.json") }

// Changes are the paths that were written or removed.
type Changes []string

// Install has the host guarded as the guard file says. Doing it again changes nothing. The key's id is that of a key
// that was made for this, and is revoked with it. If it fails, everything is as it was before.
func Install(p Places, guard *guardfile.File, keyID string) (changes Changes, err error) {
	now, before, err := look(p)
	if err != nil {
		return nil, err
	}
	next := record{Version: recordVersion, KeyID: keyID, Missing: before.missing}
	base := before.object()
	if base != before.text {
		next.Blank = &before.text
	}
	text, inserted, err := setup.Insert(base, guard)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Settings(), err)
	}
	next.Inserted = inserted
	w := writer{undoes: true}
	w.guard(guard)
	if !before.missing {
		w.private(p.Backup(), before.text)
	}
	w.private(p.record(), next.text())
	w.extension(p.Extension(), setup.Extension(guard))
	w.shell(guard)
	w.settings(p.Settings(), now, text)
	return w.changes, w.end()
}

// Check says before Install why it would fail with what is on the machine: with settings and a record that cannot be
// read or changed, or with a program that cannot stand for the host's shell.
func Check(p Places, writ string) error {
	_, before, err := look(p)
	if err != nil {
		return err
	}
	if err := setup.CheckSettings(before.object()); err != nil {
		return fmt.Errorf("%s: %w", p.Settings(), err)
	}
	return checkShell(writ)
}

// look reads the settings as they are now, and as they were before Install.
func look(p Places) (now, before settings, err error) {
	if now, err = readSettings(p.Settings()); err != nil {
		return now, before, err
	}
	past, err := readRecord(p.record())
	if err != nil {
		return now, before, err
	}
	if before, err = past.undo(now); err != nil {
		return now, before, fmt.Errorf("%s: %w", p.Settings(), err)
	}
	return now, before, nil
}

// writer writes files whose content differs, until the first error.
type writer struct {
	changes Changes
	err     error

	undoes bool           // puts back what it has changed if it fails
	before []func() error // what puts it back
}

func (w *writer) do(path string, write func() error) {
	if w.err == nil {
		w.remember(path)
	}
	w.last(path, write)
}

// last is do for what leaves the file as it is where it fails, and behind which nothing can fail any more: others write
// settings too, and what they write must not be put back.
func (w *writer) last(path string, write func() error) {
	if w.err != nil {
		return
	}
	if err := write(); err != nil {
		w.err = fmt.Errorf("%s: %w", path, err)
		return
	}
	w.changes = append(w.changes, path)
}

func (w *writer) guard(guard *guardfile.File) {
	text, err := guard.Text()
	if err != nil {
		w.err = err
		return
	}
	if same(guard.Path(), string(text), 0o600) {
		return
	}
	w.do(guard.Path(), guard.Write)
}

// private writes a file of ours for the user alone.
func (w *writer) private(path, text string) {
	if same(path, text, 0o600) {
		return
	}
	w.do(path, func() error {
		if err := private.Folder(filepath.Dir(path)); err != nil {
			return err
		}
		return private.Replace(path, []byte(text))
	})
}

// extension writes the extension's files, and removes what an earlier version had.
func (w *writer) extension(folder string, files map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path, text := filepath.Join(folder, filepath.FromSlash(name)), files[name]
		if same(path, text, 0o600) {
			continue
		}
		w.do(path, func() error {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return private.WithoutPath(err)
			}
			return private.Replace(path, []byte(text))
		})
	}
	for _, path := range Strangers(folder, files) {
		w.do(path, func() error { return os.Remove(path) })
	}
}

// Strangers are files in the extension's folder that are not part of it. The host would read some of them.
func Strangers(folder string, files map[string]string) (strangers []string) {
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		name, relErr := filepath.Rel(folder, path)
		if err != nil || relErr != nil || entry.IsDir() {
			return nil // what cannot be read is none that the host reads
		}
		if _, known := files[filepath.ToSlash(name)]; !known {
			strangers = append(strangers, path)
		}
		return nil
	})
	return strangers
}

// settings writes the host's settings in place of what was read, through links and with the mode that they have.
func (w *writer) settings(path string, before settings, text string) {
	if !before.missing && before.text == text {
		return
	}
	w.last(path, func() error { return replaceSettings(path, before, text) })
}

// same reports whether a file has this content and mode already.
func same(path, text string, mode fs.FileMode) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != mode {
		return false
	}
	now, err := os.ReadFile(path)
	return err == nil && string(now) == text
}

// Removed is what Uninstall has done.
type Removed struct {
	Changes
	KeyID string // of the key that was made for this machine; empty: it was given
}

// Uninstall takes everything away again. It goes on where something is missing or cannot be removed.
func Uninstall(p Places) (r Removed, err error) {
	past, err := readRecord(p.record())
	if err != nil {
		past = record{} // our hooks are found without it
	}
	r.KeyID = past.KeyID
	w := writer{}
	if err := past.restore(p, &w); err != nil {
		return r, err // the guard must not go while hooks point to it: they would deny everything
	}
	for _, path := range []string{p.Extension(), p.State(), p.Guard(), p.Shell(), p.record(), p.Backup()} {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		w.do(path, func() error { return os.RemoveAll(path) })
	}
	r.Changes = w.changes
	return r, w.err
}
