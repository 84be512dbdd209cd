package database

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// errMoved: SQLite goes on in files that were removed or replaced, and no start would find what it writes there.
var errMoved = errors.New("what SQLite has open is no longer in its place")

// sqliteFiles are the files of an SQLite database, as its connections opened them. They are only looked at: a process
// that opens and closes one itself takes SQLite's locks away.
type sqliteFiles struct {
	// paths are the database file, its log, and the index of the log, which holds locks of SQLite.
	paths [3]string

	mu   sync.Mutex // one connection opens or closes at a time
	open int
	// known is what was found at the paths: the file from the first connection on, the others while a connection is
	// open. The last one that closes removes them.
	known atomic.Pointer[[]os.FileInfo]
}

func newSQLiteFiles(path string) (*sqliteFiles, error) {
	linked, err := filepath.EvalSymlinks(path) // beside which SQLite makes the others
	if err != nil {
		return nil, fmt.Errorf("locate the database: %w", err)
	}
	f := &sqliteFiles{paths: [...]string{path, linked + "-wal", linked + "-shm"}}
	f.known.Store(&[]os.FileInfo{})
	return f, nil
}

// opening runs connect, and has its connection closed again unless it is one to the files that are open already.
func (f *sqliteFiles) opening(connect, disconnect func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := *f.known.Load()
	if len(known) == 0 {
		if err := f.find(&known, 1); err != nil {
			return err
		}
	}
	// Before and after: else a file that is put back meanwhile hides that another one was opened.
	if err := f.compare(known[:1]); err != nil {
		return err
	}
	if err := connect(); err != nil {
		return err
	}
	err := f.compare(known)
	if err == nil {
		err = f.find(&known, len(f.paths))
	}
	if err != nil {
		return errors.Join(err, disconnect())
	}
	f.known.Store(&known)
	f.open++
	return nil
}

// closing runs disconnect, which closes a connection.
func (f *sqliteFiles) closing(disconnect func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open--; f.open == 0 {
		file := (*f.known.Load())[:1:1]
		f.known.Store(&file)
	}
	return disconnect()
}

// check refuses unless the paths still lead to the files that are open. It takes microseconds; a commit waits for the
// disk.
func (f *sqliteFiles) check() error { return f.compare(*f.known.Load()) }

func (f *sqliteFiles) compare(known []os.FileInfo) error {
	for i, before := range known {
		if now, err := os.Stat(f.paths[i]); err != nil || !os.SameFile(before, now) {
			return f.moved(i, err)
		}
	}
	return nil
}

// find adds what is at the first paths and not known yet.
func (f *sqliteFiles) find(known *[]os.FileInfo, most int) error {
	for i := len(*known); i < most; i++ {
		info, err := os.Stat(f.paths[i])
		if err != nil {
			return f.moved(i, err)
		}
		*known = append(*known, info)
	}
	return nil
}

// moved says which file is not in its place; a nil err: another one is there.
func (f *sqliteFiles) moved(i int, err error) error {
	name := filepath.Base(f.paths[i])
	switch {
	case err == nil:
		return unavailable(errMoved, "the database file "+name+" was replaced while it was open")
	case errors.Is(err, os.ErrNotExist):
		return unavailable(fmt.Errorf("%w: %w", errMoved, err), "the database file "+name+" is gone")
	}
	return unavailable(fmt.Errorf("%w: %w", errMoved, err), "the database file "+name+" cannot be looked at")
}
