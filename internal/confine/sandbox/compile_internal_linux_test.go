//go:build amd64 || arm64

package sandbox

import (
	"regexp"
	"testing"

	"golang.org/x/sys/unix"
)

// seen is what the filter sees of a system call.
type seen struct {
	number, arch uint32
	args         [6]uint32
}

// interpret runs a filter as the kernel would, and counts its steps.
func interpret(t *testing.T, code []unix.SockFilter, s seen) (action uint32, steps int) {
	t.Helper()
	var word uint32
	for at := 0; at < len(code); at++ {
		steps++
		i, holds := code[at], false
		switch i.Code {
		case loadWord:
			switch i.K {
			case offsetNumber:
				word = s.number
			case offsetArch:
				word = s.arch
			default:
				word = s.args[(i.K-offsetArgs)/8]
			}
			continue
		case giveBack:
			return i.K, steps
		case jumpAlways:
			at += int(i.K)
			continue
		case jumpEqual:
			holds = word == i.K
		case jumpSet:
			holds = word&i.K != 0
		case jumpFrom:
			holds = word >= i.K
		default:
			t.Fatalf("instruction %d is unknown: %+v", at, i)
		}
		if holds {
			at += int(i.Jt)
		} else {
			at += int(i.Jf)
		}
	}
	t.Fatalf("%+v leads out of the filter", s)
	return 0, 0
}

// expected says what a list of refused calls means.
func expected(calls []call, s seen, refuse uint32) uint32 {
	if s.arch != auditArch || s.number >= foreignNumbers {
		return unix.SECCOMP_RET_KILL_PROCESS
	}
	for _, c := range calls {
		switch {
		case c.number != s.number || !c.holds(s):
		case c.absent:
			return unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
		default:
			return refuse
		}
	}
	return unix.SECCOMP_RET_ALLOW
}

func (c call) holds(s seen) bool {
	for _, t := range c.tests {
		value := s.args[t.arg]
		switch {
		case t.anyOf != 0 && value&t.anyOf == 0, t.equals != nil && value != *t.equals:
			return false
		}
		for _, other := range t.noneOf {
			if value == other {
				return false
			}
		}
	}
	return true
}

// mostSteps bounds the way of a call through the filter: installing it takes that long for every number.
const mostSteps = 32

func TestFilterMeansItsList(t *testing.T) {
	t.Parallel()
	const refuse = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EPERM)
	values := []uint32{
		0, 1, unix.AF_UNIX, unix.AF_INET, unix.AF_NETLINK, unix.AF_VSOCK, unix.NETLINK_ROUTE, unix.TIOCSTI,
		unix.TIOCSETD,
		unix.S_ISUID, unix.S_ISGID | 0o755, 0o644, unix.O_CREAT, unix.O_TMPFILE, unix.CLONE_NEWUSER, 1 << 31,
	}
	for _, families := range [][]uint32{{unix.AF_UNIX}, {unix.AF_UNIX, unix.AF_INET, unix.AF_NETLINK}} {
		calls := refusedCalls(families)
		code := program(calls, refuse)
		check := func(s seen) {
			action, steps := interpret(t, code, s)
			if want := expected(calls, s, refuse); action != want || steps > mostSteps {
				t.Fatalf("%+v: %#x after %d steps, want %#x after at most %d", s, action, steps, want, mostSteps)
			}
		}
		for number := range uint32(1024) {
			for i, a := range values {
				for j, b := range values {
					c := values[(i+j)%len(values)]
					check(seen{number, auditArch, [6]uint32{a, b, c, a, b, c}})
					check(seen{number, auditArch, [6]uint32{a, c, b, c, a, b}})
				}
			}
			check(seen{number: number, arch: auditArch ^ 1})
			check(seen{number: number + foreignNumbers, arch: auditArch})
		}
	}
}

func TestPasswordsInAddresses(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile(`://[^/\s@]*:[^/\s@]*@`)
	parts := []string{"", "x", ":", "@", "/", " ", "://", "\n"}
	var try func(text string, depth int)
	try = func(text string, depth int) {
		if got, want := hasPassword(text), pattern.MatchString(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
		if depth == 0 {
			return
		}
		for _, part := range parts {
			try(text+part, depth-1)
		}
	}
	try("", 6)
}
