package app

import (
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"writ/internal/config"
)

// usualMemory is far more than a server needs, and little enough that a burst of large bodies leaves no trace on a
// large machine: without a limit the garbage of such a burst grows with what is live.
const usualMemory = 1 << 30

// LimitMemory makes the garbage collector work harder before the process takes more memory than it may: as configured,
// as GOMEMLIMIT says, or three quarters of what the container or machine has, and at most usualMemory. It returns the
// limit.
func LimitMemory(c config.Config) int64 {
	limit := c.MemoryLimit
	if limit == 0 {
		if os.Getenv("GOMEMLIMIT") != "" {
			return debug.SetMemoryLimit(-1) // the runtime has read it
		}
		limit = usualMemory
		if available := availableMemory("/"); available > 0 {
			limit = min(limit, available/4*3)
		}
	}
	debug.SetMemoryLimit(limit)
	return limit
}

// availableMemory is the memory of the machine, or less where a control group allows less; 0: not known. Files are
// below root.
func availableMemory(root string) int64 {
	least := int64(math.MaxInt64)
	consider := func(bytes int64, ok bool) {
		if ok && bytes > 0 {
			least = min(least, bytes)
		}
	}
	consider(machineMemory(path.Join(root, "proc/meminfo")))
	for _, line := range readLines(path.Join(root, "proc/self/cgroup")) {
		// 0::/path of version 2; 4:memory:/path of version 1.
		number, rest, _ := strings.Cut(line, ":")
		controllers, group, ok := strings.Cut(rest, ":")
		switch {
		case !ok:
		case number == "0" && controllers == "":
			eachGroup(group, func(g string) { consider(readNumber(path.Join(root, "sys/fs/cgroup", g, "memory.max"))) })
		case strings.Contains(","+controllers+",", ",memory,"):
			eachGroup(group, func(g string) {
				consider(readNumber(path.Join(root, "sys/fs/cgroup/memory", g, "memory.limit_in_bytes")))
			})
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// eachGroup visits a group and those it is in, whose limits hold too. Inside a container the group's own path may not
// be there, but the root is.
func eachGroup(group string, visit func(group string)) {
	for group = path.Clean("/" + group); ; group = path.Dir(group) {
		visit(group)
		if group == "/" {
			return
		}
	}
}

func machineMemory(file string) (bytes int64, ok bool) {
	for _, line := range readLines(file) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "MemTotal:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10, err == nil
		}
	}
	return 0, false
}

// readNumber reads a file with one number; "max" is none.
func readNumber(file string) (n int64, ok bool) {
	content, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err = strconv.ParseInt(strings.TrimSpace(string(content)), 10, 64)
	return n, err == nil
}

func readLines(file string) []string {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return strings.Split(string(content), "\n")
}
