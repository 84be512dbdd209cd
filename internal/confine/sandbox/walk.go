package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// walked is where a path leads, and where the links lie that lead there.
type walked struct {
	actual string
	links  []string
}

// maxLinks is how many links a path may have, as in other systems' and Go's own.
const maxLinks = 255

// walk follows the links of an absolute path that exists, and remembers where each of them lies.
func walk(path string) (walked, error) {
	w, rest := walked{actual: "/"}, path
	for rest != "" {
		var part string
		switch part, rest, _ = strings.Cut(rest, "/"); part {
		case "", ".":
			continue
		case "..":
			w.actual = filepath.Dir(w.actual)
			continue
		}
		next := filepath.Join(w.actual, part)
		info, err := os.Lstat(next)
		if err != nil {
			return w, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			w.actual = next
			continue
		}
		target, err := os.Readlink(next)
		if err != nil {
			return w, err
		}
		if w.links = append(w.links, next); len(w.links) > maxLinks {
			return w, &fs.PathError{Op: "follow", Path: path, Err: syscall.ELOOP}
		}
		if filepath.IsAbs(target) {
			w.actual = "/"
		}
		rest = target + "/" + rest
	}
	return w, nil
}
