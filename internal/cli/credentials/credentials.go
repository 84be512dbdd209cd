// Package credentials stores the sign-in and the plans of writ, and finds which of
// several credentials counts.
//
// A sign-in is one file in the user's configuration folder that nobody else may
// read. The environment comes before that file, and that file before the one of
// published command lines. A credential is sent only to its own server: one that was
// saved for a server is not found for another, and one that names no server is found
// only when the command names the server.
//
// Access tokens end after minutes; a refresh token that works once replaces them.
// Several writ may run at the same time, so whoever replaces it holds a lock.
package credentials

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// maxFile bounds what is read of a file.
const maxFile = 64 << 10

// SignIn is the content of the file. Where published command lines have the same
// member, it has their name.
type SignIn struct {
	URL          string    `json:"url"` // of the server that all of it is for
	APIKey       string    `json:"apiKey,omitempty"`
	KeyID        string    `json:"keyId,omitempty"` // of a key that the sign-in made; empty: the key was given
	AccessToken  string    `json:"accessToken,omitempty"`
	RefreshToken string    `json:"refreshToken,omitempty"`
	ExpiresAt    time.Time `json:"expiresAt,omitzero"` // the access token
	Email        string    `json:"email,omitempty"`
	UserID       string    `json:"userId,omitempty"`
	OrgID        string    `json:"orgId,omitempty"`
	OrgName      string    `json:"orgName,omitempty"`
	SavedAt      time.Time `json:"savedAt"`
}

// ErrNone says that there is no sign-in, or no plan.
var ErrNone = errors.New("not signed in")

// Store is where a sign-in and plans are stored.
type Store struct {
	Folder    string // ours; empty: none can be stored
	Published string // the file of published command lines; empty: none
}

// Default is the store of the user who runs writ.
func Default() Store {
	var s Store
	if folder, err := os.UserConfigDir(); err == nil {
		s.Folder = filepath.Join(folder, "writ")
	}
	if home, err := os.UserHomeDir(); err == nil {
		s.Published = filepath.Join(home, ".armoriq", "credentials.json")
	}
	return s
}

// File is the file of the sign-in.
func (s Store) File() string { return filepath.Join(s.Folder, "credentials.json") }

// Read reads the saved sign-in; it fails with ErrNone where there is none.
func (s Store) Read() (SignIn, error) {
	if s.Folder == "" {
		return SignIn{}, ErrNone
	}
	var saved SignIn
	if err := signInFile.read(s.File(), true, &saved); err != nil {
		return SignIn{}, err
	}
	if saved.URL == "" {
		return SignIn{}, fmt.Errorf("%s names no server: sign in again", s.File())
	}
	return saved, nil
}

// Save stores a sign-in in place of the one before.
func (s Store) Save(in SignIn) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	return s.write(in)
}

func (s Store) write(in SignIn) error {
	in.SavedAt = time.Now().UTC().Truncate(time.Second)
	return signInFile.write(s.File(), in)
}

// Remove removes the sign-in.
func (s Store) Remove() error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.Remove(s.File()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the sign-in: %w", err)
	}
	return nil
}

// lock keeps other writ from changing the store. The system releases the lock when the
// process ends.
func (s Store) lock() (unlock func(), err error) {
	if s.Folder == "" {
		return nil, errors.New("there is no folder to store it in: set HOME, or XDG_CONFIG_HOME")
	}
	if err := os.MkdirAll(s.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the sign-in: %w", err)
	}
	unlock, err = lockedfile.MutexAt(filepath.Join(s.Folder, "credentials.lock")).Lock()
	if err != nil {
		return nil, fmt.Errorf("lock the sign-in: %w", err)
	}
	return unlock, nil
}

// fileKind is the name of a file in errors, and how to get the file again.
type fileKind struct{ name, again string }

var (
	signInFile = fileKind{"sign-in", "sign in"}
	planFile   = fileKind{"plan", "declare the plan"}
)

// read reads a small file. A private one that others can read is refused: we made it
// otherwise, and they may know by now what it holds. Errors show nothing of the content.
func (k fileKind) read(name string, private bool, into any) error {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrNone
	}
	if err != nil {
		return fmt.Errorf("read the %s: %w", k.name, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("read the %s: %w", k.name, err)
	}
	if private && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("others can read %s: remove it and %s again, or make it yours alone (chmod 600)", name, k.again)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return fmt.Errorf("read the %s: %w", k.name, err)
	}
	if len(text) > maxFile || json.Unmarshal(text, into) != nil {
		return fmt.Errorf("%s is no %s: remove it, and %s again", name, k.name, k.again)
	}
	return nil
}

// write writes a file that only its owner can read. The file is either whole or what
// it was before.
func (k fileKind) write(name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write the %s: %w", k.name, err)
	}
	file, err := os.CreateTemp(filepath.Dir(name), "*.tmp") // 0600
	if err != nil {
		return fmt.Errorf("write the %s: %w", k.name, err)
	}
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // it may hold secrets
		return fmt.Errorf("write the %s: %w", k.name, err)
	}
	return nil
}
