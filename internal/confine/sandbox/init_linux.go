//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// initName is what the first process of a confinement is called: this program again.
const initName = "writ-confined"

// controlFD is its connection to writ run.
const controlFD = 3

// maxPlan bounds a plan in bytes.
const maxPlan = 8 << 20

// Enter is called first in the program. It returns at once, unless the program was started
// as the first process of a confinement: then it builds that, runs the command and exits.
func Enter() {
	if len(os.Args) != 1 || os.Args[0] != initName {
		return
	}
	control := os.NewFile(controlFD, "control")
	end, err := runInit(control)
	message := endMessage{ending: end}
	if err != nil {
		message.Error, message.ending = err.Error(), ending{Exit: ExitCode(err)}
		if notHeld, ok := errors.AsType[*NotHeldError](err); ok {
			message.NotHeld, message.Error = notHeld.What, notHeld.Cause.Error()
		}
	}
	_ = json.NewEncoder(control).Encode(message)
	os.Exit(0)
}

// endMessage is what the first process sends to writ run at the end.
type endMessage struct {
	ending
	Error   string `json:"error,omitempty"`
	NotHeld string `json:"notHeld,omitempty"`
}

// runInit is the life of a confinement's first process.
func runInit(control *os.File) (ending, error) {
	if err := closeInherited(); err != nil {
		return ending{}, err
	}
	signals, caught := make(chan os.Signal, 16), make(chan struct{})
	go func() {
		catchDeadly(signals)
		close(caught)
	}()
	p := new(plan)
	if err := readPlan(control, p); err != nil {
		return ending{}, err
	}
	if err := build(p, control); err != nil {
		return ending{}, err
	}
	go func() { // writ run wants an end, or is gone
		_, _ = io.Copy(io.Discard, control)
		_ = syscall.Kill(-1, syscall.SIGKILL)
		time.Sleep(killGrace) // the command's end is told meanwhile
		os.Exit(ExitFailure)
	}()
	<-caught
	return runConfined(p, signals)
}

func readPlan(control io.Reader, p *plan) error {
	var size [4]byte
	if _, err := io.ReadFull(control, size[:]); err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	length := int(size[0])<<24 | int(size[1])<<16 | int(size[2])<<8 | int(size[3])
	if length > maxPlan {
		return fmt.Errorf("the plan has %d bytes, at most %d are allowed", length, maxPlan)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(control, text); err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	return json.Unmarshal(text, p)
}

// build makes the file system and the network.
func build(p *plan, control *os.File) error {
	if err := loopbackUp(); err != nil {
		return fmt.Errorf("start the private network: %w", err)
	}
	if p.Proxy {
		if err := sendListener(control); err != nil {
			return fmt.Errorf("listen for the proxy: %w", err)
		}
	}
	if err := buildRoot(p); err != nil {
		return err
	}
	if err := os.Chdir(p.Dir); err != nil {
		return err
	}
	return reopenNull()
}

// runConfined runs the command and waits for its end.
func runConfined(p *plan, signals chan os.Signal) (ending, error) {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return ending{}, err
	}
	ready, err := prepare(p)
	if err != nil {
		return ending{}, err
	}
	command, err := newThread(p.Namespaces, p.Observe, func() {}).start(func() (int, error) {
		return ready.spawn(&syscall.SysProcAttr{Setsid: true})
	})
	if err != nil {
		return ending{}, err
	}
	var seen observer
	if p.Observe {
		go seen.observe(command.listener)
	}
	go forward(signals, command.pid)
	end, err := reap(command.pid)
	end.Calls = seen.list()
	return end, err
}

// Signals that writ run passes on to the command: those that would end writ run, and the others.
var (
	deadlySignals = []os.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
	}
	harmlessSignals = []os.Signal{syscall.SIGWINCH, syscall.SIGCONT}
)

// catchLater is how long a command runs before the harmless signals are caught too.
const catchLater = 10 * time.Millisecond

// catchDeadly catches the deadly signals. The runtime switches threads twice for each of them, so that this takes long,
// and happens beside other work.
func catchDeadly(signals chan os.Signal) { signal.Notify(signals, deadlySignals...) }

// forward passes signals on to a process and its group. Most commands end before the harmless ones are caught.
func forward(signals chan os.Signal, pid int) {
	time.AfterFunc(catchLater, func() { signal.Notify(signals, harmlessSignals...) })
	for received := range signals {
		if number, ok := received.(syscall.Signal); ok {
			_ = syscall.Kill(-pid, number)
		}
	}
}

// loopbackUp starts the loopback interface of an empty network.
func loopbackUp() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}

// sendListener listens inside this network and gives the socket to writ run, which
// accepts from it outside.
func sendListener(control *os.File) error {
	listener, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(listener)
	if err := unix.Bind(listener, &unix.SockaddrInet4{Port: proxyPort, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}
	if err := unix.Listen(listener, unix.SOMAXCONN); err != nil {
		return err
	}
	return unix.Sendmsg(int(control.Fd()), []byte{'L'}, unix.UnixRights(listener), nil, 0)
}

// reopenNull replaces streams that are the machine's /dev/null by our own: the owner of a
// file can change its mode through a descriptor.
func reopenNull() error {
	var null unix.Stat_t
	if err := unix.Stat("/dev/null", &null); err != nil {
		return err
	}
	for fd := range 3 {
		var stat unix.Stat_t
		if unix.Fstat(fd, &stat) == nil && (stat.Mode&unix.S_IFMT != unix.S_IFCHR || stat.Rdev != null.Rdev) {
			continue
		}
		file, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if file == fd {
			continue
		}
		err = unix.Dup3(file, fd, 0)
		_ = unix.Close(file)
		if err != nil {
			return err
		}
	}
	return nil
}
