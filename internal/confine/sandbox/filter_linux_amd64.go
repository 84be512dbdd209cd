package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch      = unix.AUDIT_ARCH_X86_64
	foreignNumbers = 0x40000000 // the x32 interface
)

// refusedHere are further calls of this architecture.
var refusedHere = []named{
	{unix.SYS_IOPERM, "ioperm"}, {unix.SYS_IOPL, "iopl"}, {unix.SYS_MODIFY_LDT, "modify_ldt"},
	{unix.SYS_USELIB, "uselib"}, {unix.SYS_CREATE_MODULE, "create_module"}, {unix.SYS__SYSCTL, "_sysctl"},
}

// refusedModes are the older forms of calls that set a file's mode.
var refusedModes = []call{
	{number: unix.SYS_CHMOD, name: "chmod", tests: []test{{arg: 1, anyOf: setID}}},
	{number: unix.SYS_MKDIR, name: "mkdir", tests: []test{{arg: 1, anyOf: setID}}},
	{number: unix.SYS_MKNOD, name: "mknod", tests: []test{{arg: 1, anyOf: setID}}},
	{number: unix.SYS_CREAT, name: "creat", tests: []test{{arg: 1, anyOf: setID}}},
	{number: unix.SYS_OPEN, name: "open", tests: []test{{arg: 1, anyOf: creates}, {arg: 2, anyOf: setID}}},
}
