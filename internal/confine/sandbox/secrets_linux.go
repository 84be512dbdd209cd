package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"
)

// secretsOf lists what other users may not read below a directory. A command that root
// starts still owns such files, so they are hidden from it. Each start of a command waits
// for this, so directories are read as the kernel hands them out.
func secretsOf(dir string) []string {
	var about unix.Stat_t
	if err := unix.Lstat(dir, &about); err != nil || about.Mode&0o004 == 0 {
		return []string{dir}
	}
	s := &secretSearch{buffer: make([]byte, 32<<10)}
	s.directory(unix.AT_FDCWD, dir, dir)
	return s.found
}

type secretSearch struct {
	found  []string
	buffer []byte
}

// directory looks below a directory that has a name in another one, which is open. What cannot be looked at is hidden.
func (s *secretSearch) directory(in int, name, path string) {
	opened, err := unix.Openat(in, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT):
		return
	case err != nil:
		s.found = append(s.found, path)
		return
	}
	defer func() { _ = unix.Close(opened) }() // it was only read
	var inner []string
	for {
		n, err := unix.Getdents(opened, s.buffer)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			s.found = append(s.found, path)
			return
		}
		if n <= 0 {
			break
		}
		inner = s.entries(opened, s.buffer[:n], path, inner)
	}
	for _, name := range inner {
		s.directory(opened, name, path+"/"+name)
	}
}

// The members of a directory entry (struct linux_dirent64) before its name.
const (
	entryLength = 16
	entryType   = 18
	entryName   = 19
)

// entries notes the secrets among entries of an open directory, and adds the directories among them that others may
// read.
func (s *secretSearch) entries(in int, entries []byte, path string, inner []string) []string {
	for len(entries) > entryName {
		entry := entries[:binary.NativeEndian.Uint16(entries[entryLength:])]
		entries = entries[len(entry):]
		text, _, _ := bytes.Cut(entry[entryName:], []byte{0})
		if entry[entryType] == unix.DT_LNK || string(text) == "." || string(text) == ".." {
			continue
		}
		name := string(text)
		var about unix.Stat_t
		err := unix.Fstatat(in, name, &about, unix.AT_SYMLINK_NOFOLLOW)
		switch kind := about.Mode & unix.S_IFMT; {
		case errors.Is(err, unix.ENOENT) || kind == unix.S_IFLNK:
		case err != nil || about.Mode&0o004 == 0:
			s.found = append(s.found, path+"/"+name)
		case kind == unix.S_IFDIR:
			inner = append(inner, name)
		}
	}
	return inner
}
