//go:build amd64 || arm64

package sandbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// aims are what an attacker goes for.
type aims struct {
	Workspace, Outside, Shown, Home string

	TCP, UDP, Abstract, Socket string // listeners outside
	Victim                     int    // a process outside
	Folder, File               int    // inherited descriptors
	Parent                     int    // the process id of the test
}

// way is an attack. try returns nil if it succeeded.
type way struct {
	name string
	try  func(a *aims) error

	privileged bool // an ordinary user cannot do it even when unconfined
	metadata   bool // Landlock alone does not hold it
	reachesOut bool // pathname sockets: Landlock alone does not hold it
	maybe      bool // a kernel or its settings may refuse it even when unconfined
}

// attack tries all ways and prints the names of those that succeeded.
func attack(args []string) int {
	if len(args) == 1 {
		return single(args[0])
	}
	var a aims
	if err := json.Unmarshal([]byte(args[1]), &a); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, w := range ways {
		if w.privileged && args[0] == "ordinary" {
			continue
		}
		if err := w.try(&a); err == nil {
			fmt.Println(w.name)
		} else {
			fmt.Fprintf(os.Stderr, "%s: %v\n", w.name, err)
		}
	}
	fmt.Println("tried all")
	return 0
}

var ways = []way{
	{name: "read outside", try: func(a *aims) error { return read(a.Outside + "/canary") }},
	{name: "read the home", try: func(a *aims) error { return read(a.Home + "/canary") }},
	{name: "write by path", try: func(a *aims) error { return overwrite(a.Outside + "/canary") }},
	{name: "write what is shown", try: func(a *aims) error { return overwrite(a.Shown + "/canary") }},
	{name: "create beside it", try: func(a *aims) error { return os.WriteFile(a.Shown+"/new", nil, 0o644) }},
	{name: "write the home", try: func(a *aims) error { return overwrite(a.Home + "/canary") }},
	{name: "write by symlink", try: func(a *aims) error {
		link := a.Workspace + "/link"
		_ = os.Symlink(a.Outside, link)
		return overwrite(link + "/canary")
	}},
	{name: "write what is shown by symlink", try: func(a *aims) error {
		link := a.Workspace + "/shown"
		_ = os.Symlink(a.Shown, link)
		return overwrite(link + "/canary")
	}},
	{name: "hard link to outside", maybe: true, try: func(a *aims) error {
		return os.Link(a.Outside+"/canary", a.Workspace+"/hard")
	}},
	{name: "hard link to what is shown", maybe: true, try: func(a *aims) error {
		return os.Link(a.Shown+"/canary", a.Workspace+"/hard-shown")
	}},
	{name: "rename out", try: func(a *aims) error {
		own := a.Workspace + "/moved"
		_ = os.WriteFile(own, nil, 0o644)
		return os.Rename(own, a.Outside+"/moved")
	}},
	{name: "rename over what is shown", try: func(a *aims) error {
		own := a.Workspace + "/over"
		_ = os.WriteFile(own, nil, 0o644)
		return os.Rename(own, a.Shown+"/canary")
	}},
	{name: "rename in", try: func(a *aims) error {
		if err := os.Rename(a.Shown+"/canary", a.Workspace+"/taken"); err != nil {
			return err
		}
		return os.Rename(a.Workspace+"/taken", a.Shown+"/canary")
	}},
	{name: "exchange", try: func(a *aims) error {
		return unix.Renameat2(unix.AT_FDCWD, a.Workspace+"/canary", unix.AT_FDCWD, a.Shown+"/canary",
			unix.RENAME_EXCHANGE)
	}},
	{name: "/proc/self/root", try: func(a *aims) error { return overwrite("/proc/self/root" + a.Outside + "/canary") }},
	{name: "/proc/self/cwd", try: func(a *aims) error { return overwrite("/proc/self/cwd/../outside/canary") }},
	{name: "/proc/self/fd", try: func(a *aims) error {
		return overwrite("/proc/self/fd/" + strconv.Itoa(a.Folder) + "/canary")
	}},
	{name: "/proc/PARENT/root", privileged: true, try: func(a *aims) error {
		return overwrite(fmt.Sprintf("/proc/%d/root%s/canary", a.Parent, a.Outside))
	}},
	{name: "/proc/1/root", privileged: true, try: func(a *aims) error {
		return overwrite("/proc/1/root" + a.Outside + "/canary")
	}},
	{name: "/proc/VICTIM/cwd", maybe: true, try: func(a *aims) error {
		return overwrite(fmt.Sprintf("/proc/%d/cwd/canary", a.Victim))
	}},
	{
		name:  "/proc/VICTIM/environ",
		maybe: true,
		try:   func(a *aims) error { return read(fmt.Sprintf("/proc/%d/environ", a.Victim)) },
	},
	{name: "/proc/VICTIM/mem", maybe: true, try: func(a *aims) error {
		return overwriteNothing(fmt.Sprintf("/proc/%d/mem", a.Victim))
	}},
	{name: "inherited folder", try: func(a *aims) error {
		fd, err := unix.Openat(a.Folder, "canary", unix.O_WRONLY, 0)
		if err == nil {
			_, err = unix.Write(fd, []byte("x"))
		}
		return err
	}},
	{name: "inherited file", try: func(a *aims) error { _, err := unix.Write(a.File, []byte("x")); return err }},
	{name: "ptrace", maybe: true, try: func(a *aims) error {
		return traced(a.Victim)
	}},
	{name: "ptrace an own child", maybe: true, try: ptraceChild},
	{name: "signal", try: func(a *aims) error { return unix.Kill(a.Victim, 0) }},
	{name: "signal the parent", try: func(a *aims) error { return unix.Kill(a.Parent, 0) }, privileged: true},
	{name: "new user namespace", maybe: true, try: func(*aims) error { return start(unix.CLONE_NEWUSER) }},
	{name: "new mount namespace", privileged: true, try: func(*aims) error { return start(unix.CLONE_NEWNS) }},
	{name: "mount", privileged: true, try: func(a *aims) error {
		return unix.Mount("tmpfs", a.Workspace, "tmpfs", 0, "")
	}},
	{name: "remount", privileged: true, try: func(a *aims) error {
		return unix.Mount("", a.Shown, "", unix.MS_REMOUNT|unix.MS_BIND, "")
	}},
	{name: "chroot", privileged: true, try: func(a *aims) error { return unix.Chroot(a.Workspace) }},
	{name: "setuid bit", try: func(a *aims) error {
		own := a.Workspace + "/setuid"
		_ = os.WriteFile(own, nil, 0o755)
		return unix.Chmod(own, 0o4755)
	}},
	{name: "setuid bit at creation", try: func(a *aims) error {
		_, err := unix.Open(a.Workspace+"/setuid2", unix.O_CREAT|unix.O_WRONLY, 0o4755)
		return err
	}},
	{name: "new privileges", try: func(*aims) error {
		if on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || on == 1 {
			return errors.New("no new privileges")
		}
		return nil
	}},
	{name: "capabilities", privileged: true, try: capabilities},
	{
		name:     "chmod what is shown",
		metadata: true,
		try:      func(a *aims) error { return os.Chmod(a.Shown+"/canary", 0o600) },
	},
	{name: "chown what is shown", metadata: true, try: func(a *aims) error {
		return os.Chown(a.Shown+"/canary", os.Getuid(), os.Getgid())
	}},
	{name: "touch what is shown", metadata: true, try: func(a *aims) error {
		return os.Chtimes(a.Shown+"/canary", time.Unix(1, 0), time.Unix(1, 0))
	}},
	{name: "xattr of what is shown", maybe: true, metadata: true, try: func(a *aims) error {
		return unix.Setxattr(a.Shown+"/canary", "user.attack", []byte("x"), 0)
	}},
	{name: "chmod outside", metadata: true, try: func(a *aims) error { return os.Chmod(a.Outside+"/canary", 0o600) }},
	{name: "touch outside", metadata: true, try: func(a *aims) error {
		return os.Chtimes(a.Outside+"/canary", time.Unix(1, 0), time.Unix(1, 0))
	}},
	{name: "abstract socket", try: func(a *aims) error { return dial("unix", "@"+a.Abstract) }},
	{name: "pathname socket", reachesOut: true, try: func(a *aims) error { return dial("unix", a.Socket) }},
	{name: "TCP", try: func(a *aims) error { return dial("tcp", a.TCP) }},
	{name: "UDP", try: func(a *aims) error { return dial("udp", a.UDP) }},
	{name: "vsock", maybe: true, try: func(*aims) error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) }},
	{name: "AF_ALG", maybe: true, try: func(*aims) error { return socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0) }},
	{name: "uevents", maybe: true, try: func(*aims) error {
		return socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT)
	}},
	{name: "raw socket", privileged: true, try: func(*aims) error { return socket(unix.AF_INET, unix.SOCK_RAW, 1) }},
	{name: "io_uring", maybe: true, try: func(*aims) error {
		var params [120]byte
		_, _, errno := unix.RawSyscall(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&params)), 0)
		return asError(errno)
	}},
	{name: "environment", try: func(*aims) error {
		if os.Getenv("SOME_API_TOKEN") == "" && os.Getenv("WRIT_API_KEY") == "" {
			return errors.New("not there")
		}
		return nil
	}},
	{name: "/proc/sys", privileged: true, try: func(*aims) error {
		return overwriteNothing("/proc/sys/kernel/core_pattern")
	}},
	{name: "/proc/sysrq-trigger", privileged: true, try: func(*aims) error {
		return overwriteNothing("/proc/sysrq-trigger")
	}},
	{name: "settings for root alone", privileged: true, try: func(*aims) error { return readSome("/etc/shadow") }},
}

// overwrite changes a file that exists.
func overwrite(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString("overwritten")
	return errors.Join(err, file.Close())
}

// overwriteNothing opens a file for writing, and leaves it.
func overwriteNothing(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_ = file.Close()
	}
	return err
}

// read looks for a canary.
func read(path string) error {
	text, err := os.ReadFile(path)
	if err == nil && !bytes.Contains(text, []byte("canary")) {
		return errors.New("no canary in it")
	}
	return err
}

func readSome(path string) error {
	text, err := os.ReadFile(path)
	if err == nil && len(text) == 0 {
		return errors.New("empty")
	}
	return err
}

func dial(network, address string) error {
	conn, err := net.DialTimeout(network, address, 2*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err = conn.Write([]byte("attack")); err != nil {
		return err
	}
	if network == "udp" {
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		_, err = conn.Read(make([]byte, 1))
	}
	return err
}

func socket(family, kind, protocol int) error {
	fd, err := unix.Socket(family, kind, protocol)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}

func asError(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

func start(flags uintptr) error {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
	return cmd.Run()
}

func ptraceChild(*aims) error {
	cmd := exec.Command("/bin/sleep", "100")
	if err := cmd.Start(); err != nil {
		return nil // it counts as an escape that the attack did not work
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	return traced(cmd.Process.Pid)
}

// traced attaches to a process and lets it go on.
func traced(pid int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.PtraceAttach(pid); err != nil {
		return err
	}
	_, _ = unix.Wait4(pid, nil, unix.WALL, nil)
	_ = unix.PtraceDetach(pid)
	return nil
}

func capabilities(*aims) error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil // it counts as an escape that the attack did not work
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		if strings.HasPrefix(name, "Cap") && name != "CapInh" && name != "CapBnd" &&
			strings.Trim(value, "0 \t\n") != "" {
			return nil
		}
	}
	return errors.New("none")
}

// single does one thing that ends the process or is measured from outside.
func single(name string) int {
	switch name {
	case "x32", "i386":
		fmt.Println("survived", foreignCall(name))
	case "forks":
		fmt.Println(countForks())
	case "terminal":
		c := byte('x')
		_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
		fmt.Println(errno)
	case "devnull":
		fmt.Println(unix.Fchmod(0, 0o666), unix.Chmod("/dev/null", 0o666)) // the mode that it has: harmless if it works
	case "descriptors":
		fmt.Println(openDescriptors())
	case "loopback":
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			err = dial("tcp", listener.Addr().String())
		}
		fmt.Println("connected", err)
		if err != nil {
			return 1
		}
	case "sysv":
		_, _, errno := unix.RawSyscall(unix.SYS_SHMGET, sharedKey, 4096, 0o1600)
		fmt.Println(errno == 0)
	case "proxy":
		return useProxy()
	default:
		return probe(name)
	}
	return 0
}

// sharedKey is that of a piece of System V memory.
const sharedKey = 0x77726974

// countForks starts processes until the system refuses, and counts them.
func countForks() int {
	var started []*exec.Cmd
	for range 3000 {
		cmd := exec.Command("/bin/sleep", "100")
		if cmd.Start() != nil {
			break
		}
		started = append(started, cmd)
	}
	for _, cmd := range started {
		_ = cmd.Process.Kill()
	}
	return len(started)
}

// openDescriptors lists those above 2 that are not Go's own.
func openDescriptors() []int {
	var open []int
	for fd := 3; fd < 1024; fd++ {
		var stat unix.Stat_t
		if unix.Fstat(fd, &stat) != nil {
			continue
		}
		target, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if !strings.HasPrefix(target, "anon_inode:") {
			open = append(open, fd)
		}
	}
	return open
}

// useProxy connects to the targets on stdin through the proxy of the environment, and
// prints what each answers.
func useProxy() int {
	targets, _ := io.ReadAll(os.Stdin)
	for target := range strings.FieldsSeq(string(targets)) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(os.Getenv("HTTPS_PROXY"), "http://"))
		if err != nil {
			fmt.Println(target, err)
			continue
		}
		fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\nhello\n", target, target)
		_ = conn.(*net.TCPConn).CloseWrite()
		answer, _ := io.ReadAll(conn)
		fmt.Printf("%s %q\n", target, answer)
	}
	return 0
}

// probe makes a system call by number with arguments that no kernel accepts.
func probe(numbers string) int {
	for number := range strings.SplitSeq(numbers, ",") {
		n, err := strconv.Atoi(number)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		bad := ^uintptr(0)
		_, _, errno := unix.RawSyscall6(uintptr(n), bad, bad, bad, bad, bad, bad)
		fmt.Println(n, int(errno))
	}
	return 0
}
