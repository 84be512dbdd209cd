//go:build unix

package app

import (
	"errors"
	"os"
	"syscall"
)

// errLocked says that another process has the lock.
var errLocked error = syscall.EWOULDBLOCK

// tryLock locks a file for this process, or fails with errLocked.
func tryLock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

func releaseLock(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_UN) }

// lockFolder waits for the lock of a folder, which ends when the file is closed.
func lockFolder(dir string) (*os.File, error) {
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return folder, nil
}

// syncDir makes the names of a folder's files survive a power cut.
func syncDir(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
