//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"strconv"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification is the kernel's struct seccomp_notif.
type notification struct {
	id     uint64
	pid    uint32
	flags  uint32
	number int32
	arch   uint32
	place  uint64
	args   [6]uint64
}

// reply is the kernel's struct seccomp_notif_resp.
type reply struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

// observer refuses the calls that the filter tells it of, and counts them.
type observer struct {
	mu    sync.Mutex
	calls Counter
}

// observe answers a listener until no process has the filter any more. Every call is
// refused: the arguments could have changed since the filter saw them.
func (o *observer) observe(listener int) {
	names := namesOfCalls()
	for {
		var told notification
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV,
			uintptr(unsafe.Pointer(&told)))
		if errors.Is(errno, unix.EINTR) || errors.Is(errno, unix.ENOENT) {
			continue // interrupted, or the caller is gone
		}
		if errno != 0 {
			return
		}
		name, known := names[uint32(told.number)]
		if !known {
			name = strconv.Itoa(int(told.number))
		}
		o.count(name)
		answer := reply{id: told.id, err: -int32(unix.EPERM)}
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND,
			uintptr(unsafe.Pointer(&answer)))
	}
}

func (o *observer) count(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.calls == nil {
		o.calls = Counter{}
	}
	o.calls.Add(name)
}

func (o *observer) list() []Count {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls.List()
}

func namesOfCalls() map[uint32]string {
	names := map[uint32]string{}
	for _, c := range refusedCalls(nil) {
		names[c.number] = c.name
	}
	return names
}
