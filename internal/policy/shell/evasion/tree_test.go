package evasion

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Where things are inside the sandbox.
const (
	home      = "/home/dev"
	workspace = home + "/app"
	other     = home + "/other"
)

// Tokens are what no candidate contains: if one shows up, it was read or computed.
const (
	contentToken = "c4n4ry-1e09b7"
	nameToken    = "n4m3d-77ab20"
	startToken   = "ST4RT-42-ED" // what the marker prints; its text only has $((6*7))
)

// Old times, so that the kernel notes the next access of a canary.
var (
	accessed = time.Unix(1_000_000_000, 0)
	modified = time.Unix(1_100_000_000, 0)
)

const marker = "#!/bin/sh\nn=$((6*7))\necho \"ST4RT-$n-ED\"\n: > " + other + "/marks/ran\n"

// canaries are the files outside the workspace, by their path below home. Those with a
// slash at the end are directories; those with -> are links.
var canaries = []struct {
	path, content string
	mode          fs.FileMode
}{
	{"bin/", "", 0o755},
	{"bin/marker", marker, 0o755},
	{"other/", "", 0o755},
	{"other/canary", contentToken + " one\n", 0o640},
	{"other/old.txt", contentToken + " two\nsecond\n", 0o600},
	{"other/dir/", "", 0o755},
	{"other/dir/inner", contentToken + " three\n", 0o644},
	{"other/names/", "", 0o755},
	{"other/names/" + nameToken, "", 0o644},
	{"other/marks/", "", 0o755},
	{"other/link", "-> canary", 0},
	{"other/up", "-> ..", 0},
	{".secret", contentToken + " four\n", 0o600},
}

// plantCanaries makes what is outside, anew.
func plantCanaries() error {
	entries, err := os.ReadDir(home)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if path := filepath.Join(home, e.Name()); path != workspace {
			if err := remove(path); err != nil {
				return err
			}
		}
	}
	for _, c := range canaries {
		if err := plant(filepath.Join(home, c.path), c.path, c.content, c.mode); err != nil {
			return err
		}
	}
	for _, c := range canaries {
		if strings.HasPrefix(c.content, "-> ") {
			continue
		}
		if err := os.Chtimes(filepath.Join(home, c.path), accessed, modified); err != nil {
			return err
		}
	}
	return nil
}

func plant(path, name, content string, mode fs.FileMode) error {
	if target, isLink := strings.CutPrefix(content, "-> "); isLink {
		return os.Symlink(target, path)
	}
	if strings.HasSuffix(name, "/") {
		return errors.Join(os.MkdirAll(path, mode), os.Chmod(path, mode))
	}
	err := os.WriteFile(path, []byte(content), mode)
	return errors.Join(err, os.Chmod(path, mode), setAttribute(path))
}

// setAttribute gives a canary an extended attribute, where the file system has them.
func setAttribute(path string) error {
	err := syscall.Setxattr(path, "user.canary", []byte("here"), 0)
	if errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}

// remove deletes a tree, whatever its modes.
func remove(path string) error {
	_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(p, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}

// state is what a change of a file leaves a trace in. Any change of content, mode,
// owner, links or attributes sets the time of change.
type state struct {
	inode, links     uint64
	mode             uint32
	size             int64
	modified, change syscall.Timespec
}

// snapshot is the state of files, and when each was last read.
type snapshot struct {
	states map[string]state
	reads  map[string]syscall.Timespec
}

// look takes a snapshot of a tree and leaves no trace of its own. Of the workspace,
// outside sees only that it is there.
func look(root string) (snapshot, error) {
	s := snapshot{states: map[string]state{}, reads: map[string]syscall.Timespec{}}
	return s, s.add(root, root)
}

func (s snapshot) add(root, path string) error {
	var stat syscall.Stat_t
	if err := syscall.Lstat(path, &stat); err != nil {
		return err
	}
	if path == workspace && root != workspace {
		s.states[path] = state{mode: stat.Mode & syscall.S_IFMT}
		return nil
	}
	s.states[path] = state{stat.Ino, stat.Nlink, stat.Mode, stat.Size, stat.Mtim, stat.Ctim}
	s.reads[path] = stat.Atim
	if stat.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		return nil
	}
	names, err := list(path)
	for _, name := range names {
		err = errors.Join(err, s.add(root, filepath.Join(path, name)))
	}
	return err
}

// list reads a directory without setting when it was last read. One that a command has
// closed for us is empty: its own state says what happened.
func list(path string) ([]string, error) {
	d, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOATIME, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

// changed lists the files whose states differ.
func (s snapshot) changed(now snapshot) []string {
	var paths []string
	for path, was := range s.states {
		if is, there := now.states[path]; !there || is != was {
			paths = append(paths, path)
		}
	}
	for path := range now.states {
		if _, was := s.states[path]; !was {
			paths = append(paths, path)
		}
	}
	return paths
}
