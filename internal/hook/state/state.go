// Package state is what the hooks of one session of a coding agent tell each other: the turn that the server has
// opened, the calls that it has allowed, and what happened in the turn.
//
// Each session of the host has a folder, and each file in it belongs to the user alone. The agent runs as the
// same user, so nothing here proves anything, and nothing here allows anything: what is missing, edited or of
// another session only denies, and what allows comes from the server. A seal, made with the key of the guard
// file, tells a file that somebody edited from one that a hook wrote. It stops no shell that reads the key.
//
// Hooks run side by side and may be killed at any point. So a file is replaced whole or not at all, a line of the
// journal is one write, and a call is taken by renaming its file, which only one hook can do.
package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"writ/internal/hook/private"
)

const sessionsFolder = "sessions"

// maxSession is how long the id of a session may be.
const maxSession = 256

// ErrNoTurn says that no turn is stored.
var ErrNoTurn = errors.New("no turn of this session is open: the hook before-agent has not run")

// Session is the state of one session of the host.
type Session struct {
	id     string
	folder string
	sealer private.Sealer
}

// Open opens the state of a session below a folder, and makes it if need be. The secret seals the files:
// those that were sealed with another one count as edited.
func Open(folder, secret, id string) (*Session, error) {
	if id == "" || len(id) > maxSession {
		return nil, errors.New("the id of the session is empty or too long")
	}
	sealer := private.NewSealer(secret)
	s := &Session{
		id:     id,
		folder: filepath.Join(folder, sessionsFolder, sealer.Seal([]byte(id), "session")),
		sealer: sealer,
	}
	for _, place := range []string{s.folder, s.path(callsFolder)} {
		if err := private.Folder(place); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Session) path(name string) string { return filepath.Join(s.folder, name) }

// ID is the id of the session. One that Left found knows it once its turn was read.
func (s *Session) ID() string { return s.id }

// Remove removes the state of the session.
func (s *Session) Remove() error {
	if err := os.RemoveAll(s.folder); err != nil {
		return fmt.Errorf("remove the state of the session: %w", private.WithoutPath(err))
	}
	return nil
}

// Alarmed reports whether an alarm may have stopped a session below a folder.
func Alarmed(folder string) bool {
	entries, err := os.ReadDir(filepath.Join(folder, sessionsFolder))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	for _, entry := range entries {
		_, err := os.Lstat(filepath.Join(folder, sessionsFolder, entry.Name(), alarmFile))
		if !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// Left lists the sessions below a folder that nothing has changed since a time: their host was killed, or waits.
func Left(folder, secret string, since time.Time) ([]*Session, error) {
	entries, err := os.ReadDir(filepath.Join(folder, sessionsFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the sessions: %w", private.WithoutPath(err))
	}
	var left []*Session
	for _, entry := range entries {
		s := &Session{folder: filepath.Join(folder, sessionsFolder, entry.Name()), sealer: private.NewSealer(secret)}
		if entry.IsDir() && s.changed().Before(since) {
			left = append(left, s)
		}
	}
	return left, nil
}

// changed is when a hook last wrote something of the session.
func (s *Session) changed() (last time.Time) {
	for _, name := range []string{"", turnFile, journalFile, alarmFile, callsFolder} {
		if info, err := os.Lstat(s.path(name)); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}
