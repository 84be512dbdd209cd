//go:build unix

package guardfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// checkOwner refuses a file that somebody else can read or has written.
func checkOwner(info fs.FileInfo) error {
	if info.Mode().Perm()&0o077 != 0 {
		return errors.New("others may read or write it; make it yours alone (chmod 600)")
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
		return errors.New("belongs to somebody else")
	}
	return nil
}
