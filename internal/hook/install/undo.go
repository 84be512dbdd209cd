package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"writ/internal/hook/private"
)

// remember keeps how a file is now, so that end can put it back.
func (w *writer) remember(path string) {
	if !w.undoes || path == "" {
		return
	}
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.Mode().IsRegular():
		if text, err := os.ReadFile(path); err == nil {
			w.before = append(w.before, func() error { return putBack(path, text, info) })
		}
	case errors.Is(err, fs.ErrNotExist):
		made := missingFolders(path)
		w.before = append(w.before, func() error { return takeAway(path, made) })
	}
}

// end puts everything back if something has failed: half a guard would stop every tool, and the record must go on
// naming the key that is in the guard file.
func (w *writer) end() error {
	if w.err == nil {
		return nil
	}
	for _, back := range slices.Backward(w.before) {
		if err := back(); err != nil {
			w.err = fmt.Errorf("%w; and what was there before could not be put back: %w", w.err, err)
		}
	}
	return w.err
}

// putBack makes a file what it was, unless it still is.
func putBack(path string, text []byte, was fs.FileInfo) error {
	if same(path, string(text), was.Mode().Perm()) {
		return nil
	}
	if err := private.Replace(path, text); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return errors.Join(os.Chmod(path, was.Mode().Perm()), os.Chtimes(path, was.ModTime(), was.ModTime()))
}

// takeAway removes a file that was not there, and folders that were made for it.
func takeAway(path string, made []string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, folder := range made {
		_ = os.Remove(folder) // it stays if it holds something else
	}
	return nil
}

// missingFolders are those above a path that are not there, the lowest first.
func missingFolders(path string) (missing []string) {
	for folder := filepath.Dir(path); !exists(folder) && folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		missing = append(missing, folder)
	}
	return missing
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
