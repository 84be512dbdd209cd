//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"

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

// ruleset makes the rules of a plan. The caller closes it.
func ruleset(p *plan) (fd int, err error) {
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
		if err := allow(fd, grant.path, grant.rights&attr.HandledAccessFS); err != nil {
			_ = unix.Close(fd)
			return 0, fmt.Errorf("a rule of Landlock for %s: %w", grant.path, err)
		}
	}
	return fd, nil
}

type grant struct {
	path   string
	rights uint64
}

func (p *plan) landlockGrants() []grant {
	grants := []grant{{"/proc", mayRead &^ landlock.AccessFSExecute}}
	if p.Namespaces {
		grants = append(grants, grant{"/", landlock.AccessFSReadDir}, grant{"/dev", mayUseDevices},
			grant{"/dev/shm", mayWrite})
	} else {
		for _, device := range append(devices, "ptmx", "pts") {
			grants = append(grants, grant{"/dev/" + device, mayUseDevices})
		}
	}
	for _, g := range p.Grants {
		rights := uint64(mayRead)
		if g.Kind == writable {
			rights = mayWrite
		}
		grants = append(grants, grant{g.Path, rights})
	}
	return grants
}

// allow adds a rule. A path that does not exist needs none.
func allow(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= forFiles
	}
	return landlock.LandlockAddPathBeneathRule(ruleset, &landlock.PathBeneathAttr{
		AllowedAccess: rights, ParentFd: fd,
	}, 0)
}

// restrictThread puts the rules on this thread and on what it starts.
func restrictThread(p *plan) error {
	if p.Landlock == 0 {
		return nil
	}
	fd, err := ruleset(p)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := landlock.LandlockRestrictSelf(fd, 0); err != nil {
		return fmt.Errorf("apply the rules of Landlock: %w", err)
	}
	return nil
}
