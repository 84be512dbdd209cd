package install

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"writ/internal/hook/private"
	"writ/internal/hook/setup"
)

// maxSettings bounds what is read of settings.
const maxSettings = 4 << 20

// settings are the host's settings as they are on disk.
type settings struct {
	text    string
	mode    fs.FileMode
	missing bool
}

// skeleton is what our hooks are put into where there is nothing.
const skeleton = "{}\n"

// object is the text that our hooks are put into.
func (s settings) object() string {
	if strings.TrimSpace(s.text) == "" {
		return skeleton
	}
	return s.text
}

func readSettings(path string) (settings, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return settings{missing: true, mode: 0o600}, nil
	}
	if err != nil {
		return settings{}, fmt.Errorf("read the settings of the host: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxSettings {
		return settings{}, fmt.Errorf("%s is no file of settings", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return settings{}, fmt.Errorf("read the settings of the host: %w", err)
	}
	return settings{text: string(text), mode: info.Mode().Perm()}, nil
}

// replaceSettings writes settings whole, if nobody has changed them since they were read.
func replaceSettings(path string, before settings, text string) error {
	now, err := readSettings(path)
	if err != nil {
		return err
	}
	if now.text != before.text || now.missing != before.missing {
		return errors.New("somebody changed it just now: run this again")
	}
	target := path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		target = real // a link stays one
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return private.WithoutPath(err)
	}
	unfinished := filepath.Join(filepath.Dir(target), "settings-"+rand.Text()+".tmp")
	file, err := os.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, before.mode)
	if err != nil {
		return private.WithoutPath(err)
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Chmod(before.mode), file.Sync(), file.Close()); err == nil {
		err = os.Rename(unfinished, target)
	}
	if err != nil {
		_ = os.Remove(unfinished)
	}
	return private.WithoutPath(err)
}

const recordVersion = 1

// record is what Install has done, for Uninstall.
type record struct {
	Version  int      `json:"version"`
	KeyID    string   `json:"keyId,omitempty"`
	Missing  bool     `json:"missing,omitempty"` // there were no settings
	Blank    *string  `json:"blank,omitempty"`   // what they were where they had no object
	Inserted []string `json:"inserted"`
}

func (r record) text() string {
	text, _ := json.MarshalIndent(r, "", "  ") // texts alone
	return string(text) + "\n"
}

// readRecord reads the record; without one it is empty.
func readRecord(path string) (r record, err error) {
	text, err := private.Read(path, maxSettings)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil && json.Unmarshal(text, &r) != nil {
		err = errors.New("it is no record of writ init")
	}
	if err != nil {
		return record{}, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// undo is what settings were before Install, with what others have changed since.
func (r record) undo(now settings) (settings, error) {
	if strings.TrimSpace(now.text) == "" {
		return now, nil // somebody has emptied or removed them
	}
	text, err := setup.Remove(now.text, r.Inserted)
	if err != nil {
		return settings{}, err
	}
	before := settings{text: text, mode: now.mode}
	if text == skeleton && r.Blank != nil {
		before.text, before.missing = *r.Blank, r.Missing
	}
	return before, nil
}

// restore makes the settings what they were.
func (r record) restore(p Places, w *writer) error {
	now, err := readSettings(p.Settings())
	if err != nil || now.missing {
		return err
	}
	before, err := r.undo(now)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", p.Settings(), err)
	case before.missing:
		w.do(p.Settings(), func() error { return os.Remove(p.Settings()) })
	default:
		w.settings(p.Settings(), now, before.text)
	}
	return w.err
}

// KeyID is the id of the key that was made for this machine; empty: none was.
func KeyID(p Places) string {
	past, err := readRecord(p.record())
	if err != nil {
		return ""
	}
	return past.KeyID
}
