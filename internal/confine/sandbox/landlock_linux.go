//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Versions of Landlock's interface from which on it holds something.
const (
	landlockTruncate = 3
	landlockTCP      = 4
	landlockScopes   = 6
)

const (
	mayRead = landlock.AccessFSExecute | landlock.AccessFSReadFile | landlock.AccessFSReadDir

	mayWrite = mayRead | landlock.AccessFSWriteFile | landlock.AccessFSRemoveDir | landlock.AccessFSRemoveFile |
		landlock.AccessFSMakeDir | landlock.AccessFSMakeReg | landlock.AccessFSMakeSock | landlock.AccessFSMakeFifo |
		landlock.AccessFSMakeSym | landlock.AccessFSRefer | landlock.AccessFSTruncate

	mayUseDevices = landlock.AccessFSReadFile | landlock.AccessFSWriteFile | landlock.AccessFSReadDir |
		landlock.AccessFSTruncate | landlock.AccessFSIoctlDev

	// forFiles are the rights that a rule about a single file may name.
	forFiles = landlock.AccessFSExecute | landlock.AccessFSReadFile | landlock.AccessFSWriteFile |
		landlock.AccessFSTruncate | landlock.AccessFSIoctlDev
)

// landlockABI is the version of the kernel's Landlock; 0 is none.
func landlockABI() int {
	version, err := landlock.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return version
}

// filesHandled are the rights of files that a version knows. Those that no rule grants,
// such as making devices or reaching Unix sockets made outside, are refused everywhere.
func filesHandled(abi int) uint64 {
	handled := uint64(landlock.AccessFSRefer) - 1 // the first version's
	for _, right := range []struct {
		since int
		bit   uint64
	}{
		{2, landlock.AccessFSRefer}, {landlockTruncate, landlock.AccessFSTruncate},
		{5, landlock.AccessFSIoctlDev}, {9, landlock.AccessFSResolveUnix},
	} {
		if abi >= right.since {
			handled |= right.bit
		}
	}
	return handled
}

// ruleset makes the rules of a plan. The caller closes it. Without Landlock there is none: -1.
func ruleset(p *plan) (fd int, err error) {
	if p.Landlock == 0 {
		return -1, nil
	}
	attr := landlock.RulesetAttr{HandledAccessFS: filesHandled(p.Landlock)}
	if p.Landlock >= landlockTCP && !p.Namespaces {
		attr.HandledAccessNet = landlock.AccessNetBindTCP | landlock.AccessNetConnectTCP
	}
	if p.Landlock >= landlockScopes {
		attr.Scoped = landlock.ScopeAbstractUnixSocket | landlock.ScopeSignal
	}
	fd, err = landlock.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return 0, fmt.Errorf("make the rules of Landlock: %w", err)
	}
	for _, grant := range p.landlockGrants() {
		if err := grant.allow(fd, attr.HandledAccessFS); err != nil {
			_ = unix.Close(fd)
			return 0, fmt.Errorf("a rule of Landlock for %s: %w", grant.path, err)
		}
	}
	return fd, nil
}

type grant struct {
	path    string
	rights  uint64
	setting bool
}

func (p *plan) landlockGrants() []grant {
	var grants []grant
	add := func(path string, rights uint64) { grants = append(grants, grant{path: path, rights: rights}) }
	add("/proc", mayRead&^landlock.AccessFSExecute)
	if p.Namespaces {
		add("/", landlock.AccessFSReadDir)
		add("/dev", mayUseDevices)
		add("/dev/shm", mayWrite)
	} else {
		for _, device := range append(devices, "ptmx", "pts") {
			add("/dev/"+device, mayUseDevices)
		}
	}
	for _, g := range p.Grants {
		rights := uint64(mayRead)
		if g.Kind == writable {
			rights = mayWrite
		}
		grants = append(grants, grant{g.Path, rights, g.Kind == setting})
	}
	return grants
}

// allow adds a rule, of the rights that the kernel knows. What the caller cannot reach needs none.
func (g grant) allow(ruleset int, known uint64) error {
	fd, err := g.open()
	if err != nil || fd < 0 {
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	rights := g.rights & known
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= forFiles
	}
	return landlock.LandlockAddPathBeneathRule(ruleset, &landlock.PathBeneathAttr{
		AllowedAccess: rights, ParentFd: fd,
	}, 0)
}

// unreachable are the errors of a path that the command could not use either.
var unreachable = []unix.Errno{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES}

// open opens what a grant is about; -1 is nothing. A link gives nothing, unless it is a setting: what it leads to has a
// grant of its own, or none.
func (g grant) open() (fd int, err error) {
	fd, err = openPath(unix.AT_FDCWD, g.path)
	if g.setting && errors.Is(err, unix.ELOOP) {
		if actual, linkErr := filepath.EvalSymlinks(g.path); linkErr == nil && within(actual, "/etc") {
			fd, err = openPath(unix.AT_FDCWD, actual)
		}
	}
	if errno, ok := err.(unix.Errno); ok && slices.Contains(unreachable, errno) {
		return -1, nil
	}
	return fd, err
}

// restrictThread puts rules on this thread and on what it starts, and closes them.
func restrictThread(ruleset int) error {
	defer unix.Close(ruleset)
	if err := landlock.LandlockRestrictSelf(ruleset, 0); err != nil {
		return fmt.Errorf("apply the rules of Landlock: %w", err)
	}
	return nil
}
