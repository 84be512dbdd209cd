//go:build amd64 || arm64

package sandbox

import (
	"cmp"
	"slices"

	"golang.org/x/sys/unix"
)

// Instructions of the kernel's filter machine.
const (
	loadWord   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	jumpEqual  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	jumpSet    = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	jumpFrom   = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	jumpAlways = unix.BPF_JMP | unix.BPF_JA
	giveBack   = unix.BPF_RET | unix.BPF_K
)

// Offsets into the data that the filter sees.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16 // 8 bytes each, the lower half first on both architectures
)

func load(offset uint32) unix.SockFilter { return unix.SockFilter{Code: loadWord, K: offset} }
func end(action uint32) unix.SockFilter  { return unix.SockFilter{Code: giveBack, K: action} }

// program compiles the filter. A call of a foreign architecture ends the process.
func program(calls []call, refuse uint32) []unix.SockFilter {
	code := make([]unix.SockFilter, 0, 512)
	code = append(code,
		load(offsetArch),
		unix.SockFilter{Code: jumpEqual, K: auditArch, Jt: 1},
		end(unix.SECCOMP_RET_KILL_PROCESS),
		load(offsetNumber),
	)
	return search(code, divide(calls, refuse))
}

// numbers is what happens to system calls from a number on, up to the next of a list.
type numbers struct {
	from uint32
	code []unix.SockFilter
}

// divide lists all numbers by what happens to them, in order.
func divide(calls []call, refuse uint32) []numbers {
	byNumber := make([]*call, len(calls))
	for i := range calls {
		byNumber[i] = &calls[i]
	}
	slices.SortStableFunc(byNumber, func(a, b *call) int { return cmp.Compare(a.number, b.number) })
	list := make([]numbers, 0, 2*len(calls))
	from := func(number uint32, code []unix.SockFilter) {
		if n := len(list); n > 0 && list[n-1].from == number {
			list = list[:n-1]
		}
		if n := len(list); n == 0 || !slices.Equal(list[n-1].code, code) {
			list = append(list, numbers{number, code})
		}
	}
	allowed, refused := []unix.SockFilter{end(unix.SECCOMP_RET_ALLOW)}, []unix.SockFilter{end(refuse)}
	from(0, allowed)
	for first, next := 0, 0; first < len(byNumber); first = next {
		c := byNumber[first]
		for next < len(byNumber) && byNumber[next].number == c.number {
			next++
		}
		if len(c.tests) == 0 && !c.absent {
			from(c.number, refused)
		} else {
			from(c.number, judge(byNumber[first:next], refuse))
		}
		from(c.number+1, allowed)
	}
	from(foreignNumbers, []unix.SockFilter{end(unix.SECCOMP_RET_KILL_PROCESS)})
	return list
}

// search appends code that finds the entry of a number by halves: the kernel runs the filter for every number
// when it is installed.
func search(code []unix.SockFilter, list []numbers) []unix.SockFilter {
	if len(list) == 1 {
		return append(code, list[0].code...)
	}
	middle, begin := len(list)/2, len(code)
	code = append(code,
		unix.SockFilter{Code: jumpFrom, K: list[middle].from, Jf: 1},
		unix.SockFilter{Code: jumpAlways})
	code = search(code, list[:middle])
	code[begin+1].K = uint32(len(code) - begin - 2)
	return search(code, list[middle:])
}

// judge refuses the calls of one number, and allows what their tests leave.
func judge(calls []*call, refuse uint32) []unix.SockFilter {
	var code []unix.SockFilter
	for _, c := range calls {
		action := refuse
		if c.absent {
			action = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
		}
		var body []unix.SockFilter
		for _, t := range c.tests {
			body = append(body, load(offsetArgs+8*uint32(t.arg)))
			body = append(body, t.code()...)
		}
		body = append(body, end(action))
		skipTo(body, len(body))
		code = append(code, body...)
		if len(c.tests) == 0 {
			return code
		}
	}
	return append(code, end(unix.SECCOMP_RET_ALLOW))
}

// skip marks a jump to the end of a call's instructions; skipTo sets its distance.
const skip = 0xff

// code goes on with the next instruction if the test holds, and else skips.
func (t test) code() []unix.SockFilter {
	switch {
	case t.anyOf != 0:
		return []unix.SockFilter{{Code: jumpSet, K: t.anyOf, Jf: skip}}
	case t.equals != nil:
		return []unix.SockFilter{{Code: jumpEqual, K: *t.equals, Jf: skip}}
	}
	var code []unix.SockFilter
	for _, value := range t.noneOf {
		code = append(code, unix.SockFilter{Code: jumpEqual, K: value, Jt: skip})
	}
	return code
}

func skipTo(body []unix.SockFilter, end int) {
	for i := range body {
		if body[i].Jt == skip {
			body[i].Jt = uint8(end - i - 1)
		}
		if body[i].Jf == skip {
			body[i].Jf = uint8(end - i - 1)
		}
	}
}
