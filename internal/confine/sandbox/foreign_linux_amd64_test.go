package sandbox_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func TestForeignCallsKill(t *testing.T) {
	t.Parallel()
	forEach(t, func(t *testing.T, w *world, flat []string) {
		flags := append(flat, "--write", w.workspace, "--read", filepath.Dir(attacker()))
		for _, name := range []string{"x32", "i386"} {
			r := finish(t, w.command(t, append(slices.Clone(flags), "--", attacker(), "attack", name)...))
			if r.exit != 128+int(unix.SIGSYS) || strings.Contains(r.out, "survived") {
				t.Errorf("%s: exit %d, %s%s", name, r.exit, r.out, r.errors)
			}
		}
	})
}

// foreignCall makes a system call through another interface of the kernel.
func foreignCall(name string) int {
	if name == "i386" {
		return callI386()
	}
	pid, _, _ := unix.RawSyscall(0x40000000|unix.SYS_GETPID, 0, 0, 0)
	return int(pid)
}

// callI386 makes a system call through the interface of another architecture.
func callI386() int {
	code := []byte{0x53, 0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0x5b, 0xc3} // push rbx; mov eax, 20; int 0x80; pop rbx; ret
	page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return 0
	}
	copy(page, code)
	entry := unsafe.Pointer(&page[0])
	pointer := unsafe.Pointer(&entry)
	(*(*func())(unsafe.Pointer(&pointer)))()
	return 1
}
