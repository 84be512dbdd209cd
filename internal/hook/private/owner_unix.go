//go:build unix

package private

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// checkOwner refuses what somebody else can read or has written.
func checkOwner(info fs.FileInfo) error {
	if info.Mode().Perm()&0o077 != 0 {
		return errors.New("others may read or write it")
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
		return errors.New("it belongs to somebody else")
	}
	return nil
}

// openFlags keep a link or a pipe in the place of a file from being opened.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
