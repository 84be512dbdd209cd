//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// noPrivileges takes this thread's privileges, and the means to get any back.
func noPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clear the ambient capabilities: %w", err)
	}
	for capability := uintptr(0); capability <= 63; capability++ {
		// Without the right to drop, there is nothing that a program could get back.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil {
			break // the first number that the kernel does not know, or no right to drop
		}
	}
	return dropCapabilities()
}

func dropCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop the capabilities: %w", err)
	}
	return nil
}

// setQuotas limits this process and what it starts.
func setQuotas(p *plan) error {
	processes := p.Quotas.Processes
	if !p.Namespaces { // the kernel counts all processes of the user
		var info unix.Sysinfo_t
		if err := unix.Sysinfo(&info); err != nil {
			return fmt.Errorf("count the processes: %w", err)
		}
		processes += uint64(info.Procs)
	}
	limits := map[int]uint64{
		unix.RLIMIT_DATA:   p.Quotas.Memory,
		unix.RLIMIT_FSIZE:  p.Quotas.File,
		unix.RLIMIT_NOFILE: p.Quotas.Files,
		unix.RLIMIT_CORE:   1, // 0 would still start a program that takes cores
	}
	if !p.AnyProcs {
		limits[unix.RLIMIT_NPROC] = processes
	}
	for resource, value := range limits {
		if err := limit(resource, value); err != nil {
			return err
		}
	}
	return nil
}

// limit lowers a limit; one that is already lower stays.
func limit(resource int, value uint64) error {
	var present unix.Rlimit
	if err := unix.Getrlimit(resource, &present); err != nil {
		return fmt.Errorf("read limit %d: %w", resource, err)
	}
	value = min(value, present.Max)
	// The standard library restores its own change of RLIMIT_NOFILE in children unless told otherwise.
	if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value}); err != nil {
		return fmt.Errorf("set limit %d: %w", resource, err)
	}
	return nil
}

// closeInherited marks all descriptors above 2, so that no program we start gets them.
func closeInherited() error {
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close inherited descriptors: %w", err)
	}
	return nil
}

// checkStreams refuses a directory as stdin, stdout or stderr: it would lead outside.
func checkStreams() error {
	for fd := range 3 {
		var stat unix.Stat_t
		if err := unix.Fstat(fd, &stat); err != nil {
			continue // closed
		}
		if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
			return fmt.Errorf("descriptor %d is a directory, which would lead out of the confinement", fd)
		}
	}
	return nil
}

// runsAsRoot reports whether the kernel sees the system's root in this process.
func runsAsRoot() bool { return os.Geteuid() == 0 }
