package app

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// errLocked says that another process has the lock.
var errLocked error = windows.ERROR_LOCK_VIOLATION

// tryLock locks a file for this process, or fails with errLocked.
func tryLock(file *os.File) error { return lock(file, windows.LOCKFILE_FAIL_IMMEDIATELY) }

func lock(file *os.File, flags uint32) error {
	return windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|flags, 0, 1, 0,
		&windows.Overlapped{})
}

func releaseLock(file *os.File) error {
	return windows.UnlockFileEx(windows.Handle(file.Fd()), 0, 1, 0, &windows.Overlapped{})
}

// lockFolder waits for the lock of a folder, which ends when the file is closed. Windows
// locks files only, so that one in the folder stands for it.
func lockFolder(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "folder.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(file, 0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// syncDir does nothing: NTFS keeps the names of files in its journal, and a folder cannot be flushed.
func syncDir(string) error { return nil }
