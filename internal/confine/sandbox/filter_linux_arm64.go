package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch      = unix.AUDIT_ARCH_AARCH64
	foreignNumbers = 0xffff0000 // this architecture has no second interface
)

// refusedHere are further calls of this architecture.
var refusedHere []named

// refusedModes are the older forms of calls that set a file's mode.
var refusedModes []call
