//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// devices are the harmless ones of /dev.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// stage is where the command's file system is built before it becomes the root.
const stage = "/tmp"

const (
	readOnly  = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	noDevices = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

	tmpfsFlags = unix.MS_NOSUID | unix.MS_NODEV
	privateMax = "size=4g,nr_inodes=1m,mode=" // of a private directory
)

// tree is a copy of a mount that is not yet attached anywhere.
type tree struct {
	mountPoint
	fd    int
	isDir bool
}

// buildRoot replaces the file system of this mount namespace by the plan's.
func buildRoot(p *plan) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	trees, err := copyTrees(p.Mounts)
	if err != nil {
		return err
	}
	nodes, err := copyTrees(deviceNodes())
	if err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", stage, "tmpfs", tmpfsFlags, "size=1m,mode=755"); err != nil {
		return fmt.Errorf("mount the new root: %w", err)
	}
	for _, t := range trees {
		if err := t.attach(); err != nil {
			return fmt.Errorf("show %s: %w", t.Path, err)
		}
	}
	if err := makeLinks(p.Links); err != nil {
		return err
	}
	if err := mountDev(nodes); err != nil {
		return err
	}
	if err := mountProc(p); err != nil {
		return err
	}
	return enterRoot()
}

func deviceNodes() []mountPoint {
	var nodes []mountPoint
	for _, name := range devices {
		nodes = append(nodes, mountPoint{Path: "/dev/" + name, Kind: readable})
	}
	return nodes
}

// copyTrees takes the trees of mount points before anything covers them.
func copyTrees(points []mountPoint) ([]tree, error) {
	trees := make([]tree, 0, len(points))
	for _, point := range points {
		t, err := copyTree(point)
		if errors.Is(err, fs.ErrNotExist) && point.Kind == hidden {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", point.Path, err)
		}
		trees = append(trees, t)
	}
	return trees, nil
}

func copyTree(point mountPoint) (tree, error) {
	t := tree{mountPoint: point, fd: -1, isDir: true}
	if point.Kind == private {
		return t, nil
	}
	path, err := openPath(unix.AT_FDCWD, point.Path)
	if err != nil {
		return t, err
	}
	defer unix.Close(path)
	var stat unix.Stat_t
	if err := unix.Fstat(path, &stat); err != nil {
		return t, err
	}
	t.isDir = stat.Mode&unix.S_IFMT == unix.S_IFDIR
	if point.Kind == hidden {
		return t, nil
	}
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_EMPTY_PATH | unix.AT_RECURSIVE)
	if t.fd, err = unix.OpenTree(path, "", flags); err != nil {
		return t, err
	}
	attr := unix.MountAttr{Attr_set: point.attributes()}
	return t, unix.MountSetattr(t.fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr)
}

func (m mountPoint) attributes() uint64 {
	switch {
	case m.Kind == writable || m.Kind == held:
		return noDevices
	case strings.HasPrefix(m.Path, "/dev/"):
		return readOnly &^ unix.MOUNT_ATTR_NODEV // a device can be used, its mode and times stay
	}
	return readOnly
}

// openPath opens a path without following a link that somebody may have put there since
// the plan was made.
func openPath(dir int, path string) (int, error) {
	return unix.Openat2(dir, path, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
}

// attach puts a tree into the new root.
func (t *tree) attach() error {
	place := stage + t.Path
	if err := t.makePlace(place); err != nil {
		return err
	}
	switch {
	case t.fd >= 0:
		defer unix.Close(t.fd)
		to, err := openPath(unix.AT_FDCWD, place)
		if err != nil {
			return err
		}
		defer unix.Close(to)
		return unix.MoveMount(t.fd, "", to, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	case t.Kind == private:
		mode := "700"
		if t.Path == "/tmp" {
			mode = "1777"
		}
		return unix.Mount("tmpfs", place, "tmpfs", tmpfsFlags, privateMax+mode)
	case t.isDir:
		return unix.Mount("tmpfs", place, "tmpfs", tmpfsFlags|unix.MS_RDONLY, "size=4k,mode=755")
	}
	return hideFile(place)
}

// makePlace makes the file or directory on which the tree is mounted. What exists is one of
// a tree that was attached before.
func (t *tree) makePlace(place string) error {
	if _, err := os.Lstat(place); err == nil {
		return nil
	}
	if t.isDir {
		return os.MkdirAll(place, 0o755)
	}
	return makeFile(place)
}

func makeFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444)
	if err != nil {
		return err
	}
	return file.Close()
}

// emptyFile covers the files that are hidden.
const emptyFile = stage + "/.empty"

func hideFile(place string) error {
	if err := makeFile(emptyFile); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	empty, err := copyTree(mountPoint{Path: emptyFile, Kind: readable})
	if err != nil {
		return err
	}
	defer unix.Close(empty.fd)
	return unix.MoveMount(empty.fd, "", unix.AT_FDCWD, place, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// makeLinks makes the symbolic links that lead to what is shown. A name that exists stays.
func makeLinks(links map[string]string) error {
	links["/var/tmp"] = "/tmp"
	for path, target := range links {
		place := stage + path
		if _, err := os.Lstat(place); err == nil {
			continue
		}
		// A parent that cannot be made is a link or read-only: the name is then not shown.
		if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
			continue
		}
		if err := os.Symlink(target, place); err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, unix.EROFS) {
			return fmt.Errorf("link %s: %w", path, err)
		}
	}
	return nil
}

// mountDev makes a /dev with harmless devices, terminals of its own and shared memory.
func mountDev(nodes []tree) error {
	dev := stage + "/dev"
	if err := os.MkdirAll(dev, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", dev, "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "size=64k,mode=755"); err != nil {
		return fmt.Errorf("mount /dev: %w", err)
	}
	for _, node := range nodes {
		if err := node.attach(); err != nil {
			return fmt.Errorf("show %s: %w", node.Path, err)
		}
	}
	for _, dir := range []string{"/shm", "/pts"} {
		if err := os.Mkdir(dev+dir, 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount("tmpfs", dev+"/shm", "tmpfs", tmpfsFlags, "size=1g,mode=1777"); err != nil {
		return fmt.Errorf("mount /dev/shm: %w", err)
	}
	flags := uintptr(unix.MS_NOSUID | unix.MS_NOEXEC)
	if err := unix.Mount("devpts", dev+"/pts", "devpts", flags, "newinstance,ptmxmode=0666,mode=620"); err != nil {
		return fmt.Errorf("mount /dev/pts: %w", err)
	}
	for name, target := range map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
		"stderr": "/proc/self/fd/2",
	} {
		if err := os.Symlink(target, dev+"/"+name); err != nil {
			return err
		}
	}
	return setReadOnly(dev)
}

// setReadOnly makes one mount read-only, not those below it.
func setReadOnly(path string) error {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, path, 0, &attr); err != nil {
		return fmt.Errorf("make %s read-only: %w", path, err)
	}
	return nil
}

// mountProc shows this pid namespace, and limits how many processes it may have.
func mountProc(p *plan) error {
	proc := stage + "/proc"
	if err := os.MkdirAll(proc, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("proc", proc, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := limitPids(p, proc+"/sys/kernel/pid_max"); err != nil {
		return err
	}
	return setReadOnly(proc)
}

// limitPids bounds how many processes this pid namespace may have. Before Linux 6.14 the file
// is one for the whole machine, and RLIMIT_NPROC alone holds, which does not bind root.
func limitPids(p *plan, file string) error {
	if p.AnyProcs {
		return nil
	}
	err := errors.New("the kernel is older than 6.14")
	if kernelSince(6, 14) {
		err = os.WriteFile(file, strconv.AppendUint(nil, p.Quotas.Processes, 10), 0)
	}
	if err != nil && p.AsRoot {
		return &NotHeldError{What: WithoutProcesses, Cause: fmt.Errorf("root's processes cannot be bounded: %w", err)}
	}
	return nil
}

// kernelSince reports whether the running kernel is of a version or later.
func kernelSince(major, minor int) bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	var hasMajor, hasMinor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &hasMajor, &hasMinor); err != nil {
		return false
	}
	return hasMajor > major || hasMajor == major && hasMinor >= minor
}

// enterRoot makes the new root the only one.
func enterRoot() error {
	if err := os.Remove(emptyFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := setReadOnly(stage); err != nil {
		return err
	}
	if err := os.Chdir(stage); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	return os.Chdir("/")
}
