//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call is a system call, perhaps only with certain arguments, that the filter refuses.
type call struct {
	number uint32
	name   string
	tests  []test // all must hold
	absent bool   // answered with ENOSYS, so that programs take another way
}

// test is a condition on the lower half of an argument. The kernel reads no more than that
// of the arguments that are tested here.
type test struct {
	arg    int
	anyOf  uint32   // holds if one of these bits is set
	noneOf []uint32 // holds if the value is none of these
	equals *uint32
}

// newNamespaces are the flags of clone that make namespaces.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// setID are the bits that let others run a file with the rights of its owner.
const setID = unix.S_ISUID | unix.S_ISGID

// creates are the flags of open with which its mode counts.
const creates = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

// refusedCalls are those of both architectures: what reaches other processes, the kernel's
// settings, other file systems and terminals, or what the filter could not look into.
func refusedCalls(families []uint32) []call {
	calls := []call{
		{number: unix.SYS_CLONE3, name: "clone3", absent: true},
		{number: unix.SYS_OPENAT2, name: "openat2", absent: true},
		{number: unix.SYS_CLONE, name: "clone", tests: []test{{arg: 0, anyOf: newNamespaces}}},
		{number: unix.SYS_UNSHARE, name: "unshare", tests: []test{{arg: 0, anyOf: newNamespaces | unix.CLONE_NEWTIME}}},
		{number: unix.SYS_SOCKET, name: "socket", tests: []test{{arg: 0, noneOf: families}}},
		{number: unix.SYS_SOCKETPAIR, name: "socketpair", tests: []test{{arg: 0, noneOf: families}}},
		{number: unix.SYS_SOCKET, name: "socket", tests: []test{
			{arg: 0, equals: new(uint32(unix.AF_NETLINK))}, {arg: 2, noneOf: []uint32{unix.NETLINK_ROUTE}},
		}},
		{number: unix.SYS_FCHMOD, name: "fchmod", tests: []test{{arg: 1, anyOf: setID}}},
		{number: unix.SYS_FCHMODAT, name: "fchmodat", tests: []test{{arg: 2, anyOf: setID}}},
		{number: unix.SYS_FCHMODAT2, name: "fchmodat2", tests: []test{{arg: 2, anyOf: setID}}},
		{number: unix.SYS_MKDIRAT, name: "mkdirat", tests: []test{{arg: 2, anyOf: setID}}},
		{number: unix.SYS_MKNODAT, name: "mknodat", tests: []test{{arg: 2, anyOf: setID}}},
		{number: unix.SYS_OPENAT, name: "openat", tests: []test{{arg: 2, anyOf: creates}, {arg: 3, anyOf: setID}}},
	}
	for _, request := range []uint32{unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSETD, unix.TIOCCONS} {
		calls = append(calls, call{number: unix.SYS_IOCTL, name: "ioctl", tests: []test{{arg: 1, equals: &request}}})
	}
	for _, c := range append(alwaysRefused, refusedHere...) {
		calls = append(calls, call{number: c.number, name: c.name})
	}
	return append(calls, refusedModes...)
}

// named is a system call that is refused whatever its arguments are.
type named struct {
	number uint32
	name   string
}

var alwaysRefused = []named{
	// Other processes.
	{unix.SYS_PTRACE, "ptrace"}, {unix.SYS_PROCESS_VM_READV, "process_vm_readv"},
	{unix.SYS_PROCESS_VM_WRITEV, "process_vm_writev"}, {unix.SYS_PIDFD_GETFD, "pidfd_getfd"},
	{unix.SYS_PROCESS_MADVISE, "process_madvise"}, {unix.SYS_PROCESS_MRELEASE, "process_mrelease"},
	{unix.SYS_KCMP, "kcmp"}, {unix.SYS_MOVE_PAGES, "move_pages"}, {unix.SYS_MIGRATE_PAGES, "migrate_pages"},
	// File systems.
	{unix.SYS_MOUNT, "mount"}, {unix.SYS_UMOUNT2, "umount2"}, {unix.SYS_PIVOT_ROOT, "pivot_root"},
	{unix.SYS_CHROOT, "chroot"}, {unix.SYS_OPEN_TREE, "open_tree"}, {unix.SYS_OPEN_TREE_ATTR, "open_tree_attr"},
	{unix.SYS_MOVE_MOUNT, "move_mount"}, {unix.SYS_FSOPEN, "fsopen"}, {unix.SYS_FSCONFIG, "fsconfig"},
	{unix.SYS_FSMOUNT, "fsmount"}, {unix.SYS_FSPICK, "fspick"}, {unix.SYS_MOUNT_SETATTR, "mount_setattr"},
	{unix.SYS_OPEN_BY_HANDLE_AT, "open_by_handle_at"}, {unix.SYS_QUOTACTL, "quotactl"},
	{unix.SYS_QUOTACTL_FD, "quotactl_fd"}, {unix.SYS_SWAPON, "swapon"}, {unix.SYS_SWAPOFF, "swapoff"},
	{unix.SYS_FANOTIFY_INIT, "fanotify_init"}, {unix.SYS_NFSSERVCTL, "nfsservctl"},
	// Namespaces, and ways around the filter.
	{unix.SYS_SETNS, "setns"}, {unix.SYS_IO_URING_SETUP, "io_uring_setup"},
	{unix.SYS_IO_URING_ENTER, "io_uring_enter"}, {unix.SYS_IO_URING_REGISTER, "io_uring_register"},
	// The kernel.
	{unix.SYS_BPF, "bpf"}, {unix.SYS_PERF_EVENT_OPEN, "perf_event_open"}, {unix.SYS_USERFAULTFD, "userfaultfd"},
	{unix.SYS_KEYCTL, "keyctl"}, {unix.SYS_ADD_KEY, "add_key"}, {unix.SYS_REQUEST_KEY, "request_key"},
	{unix.SYS_KEXEC_LOAD, "kexec_load"}, {unix.SYS_KEXEC_FILE_LOAD, "kexec_file_load"},
	{unix.SYS_INIT_MODULE, "init_module"}, {unix.SYS_FINIT_MODULE, "finit_module"},
	{unix.SYS_DELETE_MODULE, "delete_module"}, {unix.SYS_REBOOT, "reboot"}, {unix.SYS_SYSLOG, "syslog"},
	{unix.SYS_ACCT, "acct"}, {unix.SYS_SETTIMEOFDAY, "settimeofday"}, {unix.SYS_CLOCK_SETTIME, "clock_settime"},
	{unix.SYS_CLOCK_ADJTIME, "clock_adjtime"}, {unix.SYS_SETHOSTNAME, "sethostname"},
	{unix.SYS_SETDOMAINNAME, "setdomainname"}, {unix.SYS_VHANGUP, "vhangup"},
	{unix.SYS_LOOKUP_DCOOKIE, "lookup_dcookie"},
}

// installFilter puts the filter on this thread and on what it starts. With observe the
// refused calls are told to the listener that it returns, which must answer them.
func installFilter(namespaces, observe bool) (listener int, err error) {
	families := []uint32{unix.AF_UNIX}
	if namespaces {
		families = append(families, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)
	}
	refuse, flags := uint32(unix.SECCOMP_RET_ERRNO)|uint32(unix.EPERM), uintptr(0)
	if observe {
		refuse, flags = unix.SECCOMP_RET_USER_NOTIF, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER
	}
	code := program(refusedCalls(families), refuse)
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return 0, fmt.Errorf("the filter of system calls: %w", errno)
	}
	return int(fd), nil
}
