package launch

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// self is the program that runs here.
const self = "/proc/self/exe"

// event is the kernel's struct sigevent.
type event struct {
	value  uintptr
	signal int32
	notify int32
	_      [52]byte
}

// killAfter has the kernel kill this process when the time is over, whatever holds it up: its own timers do nothing in
// a process that is stopped.
func killAfter(limit time.Duration) error {
	var id int32
	kill := event{signal: int32(unix.SIGKILL)}
	_, _, errno := unix.Syscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&kill)),
		uintptr(unsafe.Pointer(&id)))
	if errno != 0 {
		return errno
	}
	at := unix.ItimerSpec{Value: unix.NsecToTimespec(limit.Nanoseconds())}
	_, _, errno = unix.Syscall6(unix.SYS_TIMER_SETTIME, uintptr(id), 0, uintptr(unsafe.Pointer(&at)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
