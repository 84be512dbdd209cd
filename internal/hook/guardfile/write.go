package guardfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"writ/internal/hook/private"
)

// At is a guard file as it will be at a path. It must be one that hooks accept.
func At(path string, f File) (*File, error) {
	f.path, f.Version = path, Version
	if f.Capabilities == nil {
		f.Capabilities = []string{}
	}
	if f.Protected == nil {
		f.Protected = []string{}
	}
	if !filepath.IsAbs(path) {
		return nil, errors.New("the path of the guard file must be absolute")
	}
	for _, p := range []string{path, f.Writ, f.PlanServer} {
		if strings.ContainsAny(p, "${}\r\n") {
			return nil, fmt.Errorf("%q has a dollar sign, a brace or a line break, which the host would replace: "+
				"use another folder", p)
		}
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	return &f, nil
}

// Write writes the file, for the user alone.
func (f *File) Write() error {
	text, err := f.Text()
	if err != nil {
		return err
	}
	if err := private.Folder(filepath.Dir(f.path)); err != nil {
		return fmt.Errorf("the folder of the guard file: %w", err)
	}
	if err := private.Replace(f.path, text); err != nil {
		return fmt.Errorf("write the guard file: %w", err)
	}
	return nil
}

// Text is the file's content.
func (f *File) Text() ([]byte, error) {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the guard file: %w", err)
	}
	return append(text, '\n'), nil
}
