// Package private reads and writes files that belong to the user alone, and seals them.
//
// A coding agent runs as the same user. So a file in the wrong place (a link, a pipe, one that others may write) is
// refused, and a seal tells what somebody edited from what a hook wrote. Neither stops a shell that reads the
// key of the guard file; what hooks read here allows nothing.
package private

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Sealer seals texts with a secret.
type Sealer struct{ key [sha256.Size]byte }

// NewSealer is the sealer of a secret.
func NewSealer(secret string) Sealer {
	return Sealer{key: sha256.Sum256([]byte("writ state\x00" + secret))}
}

// Seal is the seal of a text that has these names.
func (s Sealer) Seal(text []byte, names ...string) string {
	mac := hmac.New(sha256.New, s.key[:])
	mac.Write([]byte{byte(len(names))}) // or a name could pass for a part of the text
	for _, name := range names {
		mac.Write([]byte(name))
		mac.Write([]byte{0})
	}
	mac.Write(text)
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// Holds reports whether a seal is that of the text.
func (s Sealer) Holds(seal string, text []byte, names ...string) bool {
	return hmac.Equal([]byte(seal), []byte(s.Seal(text, names...)))
}

// Folder makes a folder, and refuses one that others may read or write, and a link.
func Folder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("make a folder of the hooks: %w", WithoutPath(err))
	}
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("look at a folder of the hooks: %w", WithoutPath(err))
	}
	if !info.IsDir() {
		return errors.New("a folder of the hooks is no folder")
	}
	if err := checkOwner(info); err != nil {
		return fmt.Errorf("a folder of the hooks: %w", err)
	}
	return nil
}

// Open opens a file, and neither a link nor anything that is no file. The flags are those of package os.
func Open(path string, flags int) (*os.File, error) {
	file, err := os.OpenFile(path, flags|openFlags, 0o600)
	if err != nil {
		return nil, WithoutPath(err)
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		_ = file.Close()
		return nil, errors.New("it is no file")
	}
	return file, nil
}

// Read reads a file of at most so many bytes that belongs to the user alone.
func Read(path string, limit int64) ([]byte, error) {
	file, err := Open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, WithoutPath(err)
	}
	if err := checkOwner(info); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, WithoutPath(err)
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("it has more than %d bytes", limit)
	}
	return text, nil
}

// temporary begins the names of files that are not whole yet.
const temporary = "new-"

// Replace writes a file whole, or leaves the one that is there.
func Replace(path string, text []byte) error {
	unfinished := filepath.Join(filepath.Dir(path), temporary+rand.Text())
	file, err := os.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return WithoutPath(err)
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(unfinished, path)
	}
	if err != nil {
		_ = os.Remove(unfinished)
	}
	return WithoutPath(err)
}

// WithoutPath is an error of the system without the path: the agent must not read there where the files are.
func WithoutPath(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return link.Err
	}
	return err
}
