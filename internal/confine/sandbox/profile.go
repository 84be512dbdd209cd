package sandbox

import (
	"fmt"
	"strconv"
	"strings"
)

// macDirs are what every command may read on macOS.
var macDirs = []string{
	"/usr", "/bin", "/sbin", "/System", "/Library/Apple", "/Library/Developer", "/Library/Frameworks",
	"/Applications/Xcode.app", "/opt/homebrew", "/private/etc", "/private/var/db/timezone", "/private/var/select",
	"/private/var/db/dyld",
}

// macServices are the services of the system that ordinary programs ask.
var macServices = []string{
	"com.apple.system.opendirectoryd.libinfo", "com.apple.system.logger", "com.apple.system.notification_center",
	"com.apple.trustd.agent", "com.apple.SecurityServer",
}

// macLimits are what a profile of macOS's sandbox holds. Paths are real ones.
type macLimits struct {
	write, read, protected []string
	proxyPort              int // 0: no network
}

// profile writes the limits in the language of sandbox-exec. Of two rules that match, the
// later one decides.
func (l macLimits) profile() string {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	rule := func(what string, filter string, paths []string) {
		if len(paths) == 0 {
			return
		}
		line("(%s", what)
		for _, path := range paths {
			line("  (%s %s)", filter, quoted(path))
		}
		line(")")
	}
	line("(version 1)\n(deny default)\n(allow process-fork)\n(allow process-info* (target same-sandbox))")
	line("(allow signal (target same-sandbox))\n(allow sysctl-read)\n(allow file-read-metadata)")
	rule("allow mach-lookup", "global-name", macServices)
	rule("allow file-read* process-exec", "subpath", macDirs)
	rule("allow file-read* file-write-data file-ioctl", "literal", []string{
		"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/dtracehelper",
	})
	rule("allow file-read* process-exec", "subpath", l.read)
	rule("allow file-read* file-write* process-exec", "subpath", l.write)
	rule("deny file-write*", "subpath", l.protected)
	line("(deny file-write-setugid)")
	if l.proxyPort != 0 {
		line("(allow network-outbound (remote ip %s))", quoted("localhost:"+strconv.Itoa(l.proxyPort)))
	}
	return text.String()
}

// quoted is a string of the profile's language.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
