package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"writ/internal/hook/private"
)

// errEdited says that a file is not as a hook wrote it.
var errEdited = errors.New("somebody edited it, or it belongs to another session or key")

// sealed is a file of the state.
type sealed struct {
	Session string          `json:"session"`
	Content json.RawMessage `json:"content"`
	Seal    string          `json:"seal"`
}

// store writes a file. The kind is what its seal is for.
func (s *Session) store(path, kind string, value any) error {
	content, err := json.Marshal(value)
	if err != nil {
		return err
	}
	text, err := json.Marshal(sealed{
		Session: s.id,
		Content: content,
		Seal:    s.sealer.Seal(content, s.id, kind),
	})
	if err != nil {
		return err
	}
	return private.Replace(path, text)
}

// load reads a file that a hook of this session wrote. A session that was found by its folder learns its id.
func (s *Session) load(path, kind string, limit int64, into any) error {
	text, err := private.Read(path, limit)
	if err != nil {
		return err
	}
	var file sealed
	if err := strict(text, &file); err != nil {
		return err
	}
	if s.id != "" && file.Session != s.id || !s.sealer.Holds(file.Seal, file.Content, file.Session, kind) {
		return errEdited
	}
	if s.id == "" {
		s.id = file.Session
	}
	return strict(file.Content, into)
}

// strict decodes one JSON value without members that are not known.
func strict(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if decoder.Decode(into) != nil {
		return errEdited
	}
	if _, err := decoder.Token(); err != io.EOF {
		return errEdited
	}
	return nil
}
