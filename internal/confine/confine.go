// Package confine says within which limits a command may run: what a rule demands, and the
// arguments of writ run that hold it. It is pure and imports nothing of ours; package
// sandbox below it does the work.
package confine

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// Workspace is the word that stands for the agent's working directory in a path of Limits.
const Workspace = "workspace"

// The most entries that a list of Limits may have, and the longest entry in bytes.
const (
	MaxEntries = 64
	MaxLength  = 1024
)

// Limits are what a confined command may do. The zero value writes and connects nowhere
// and reads only the system's own directories.
//
// A path is absolute, or starts with the word workspace or with ~ (the person's home).
// An entry of Net is HOST:PORT; none means no network. Protect grants nothing: what lies inside a writable directory
// stays read-only. Intersections make it of Read where nobody knows yet whether a path lies there.
type Limits struct {
	Write   []string `json:"write,omitempty" yaml:"write,omitempty"`
	Read    []string `json:"read,omitempty" yaml:"read,omitempty"`
	Net     []string `json:"net,omitempty" yaml:"net,omitempty"`
	Protect []string `json:"protect,omitempty" yaml:"protect,omitempty"`
}

// Check reports what is wrong with the limits, naming the field.
func (l Limits) Check() error {
	for _, list := range []struct {
		field   string
		entries []string
		check   func(string) error
	}{
		{"write", l.Write, checkPath}, {"read", l.Read, checkPath}, {"net", l.Net, CheckHost},
		{"protect", l.Protect, checkPath},
	} {
		if len(list.entries) > MaxEntries {
			return fmt.Errorf("%s: has %d entries, at most %d are allowed", list.field, len(list.entries), MaxEntries)
		}
		for i, entry := range list.entries {
			if err := list.check(entry); err != nil {
				return fmt.Errorf("%s[%d]: %w", list.field, i, err)
			}
		}
	}
	return nil
}

func checkPath(p string) error {
	const want = "must be an absolute path, or start with workspace or ~"
	first, _, _ := strings.Cut(p, "/")
	switch {
	case len(p) > MaxLength:
		return fmt.Errorf("must have at most %d bytes", MaxLength)
	case strings.ContainsAny(p, "\x00\n"):
		return fmt.Errorf("must not contain a zero byte or a line break")
	case first != "" && first != Workspace && first != "~", p == "":
		return errors.New(want)
	case path.Clean(p) != p:
		return fmt.Errorf("must be written without .., . or double slashes, as %s", path.Clean(p))
	}
	return nil
}

var errNotHostAndPort = errors.New(
	"must be HOST:PORT with a port from 1 to 65535, such as proxy.golang.org:443")

// CheckHost reports what is wrong with an entry of Net.
func CheckHost(entry string) error {
	colon := strings.LastIndexByte(entry, ':')
	number, err := strconv.ParseUint(entry[colon+1:], 10, 16)
	if colon < 0 || err != nil || number == 0 || len(entry) > MaxLength {
		return errNotHostAndPort
	}
	host := entry[:colon]
	inner, bracketed := strings.CutPrefix(host, "[")
	if bracketed && strings.HasSuffix(inner, "]") {
		host = strings.TrimSuffix(inner, "]")
	}
	switch {
	case isName(host), bracketed && isIPv6(host): // an address of IPv4 looks like a name
		return nil
	case strings.ContainsAny(host, "/:["):
		return errNotHostAndPort
	}
	return errors.New("must name one host or address; patterns are not supported")
}

// isIPv6 reports whether a text is an address of IPv6. Package netip knows too, but writ run would start later if it
// linked that.
func isIPv6(text string) bool {
	text, zone, zoned := strings.Cut(text, "%")
	if zoned && (zone == "" || strings.ContainsAny(zone, "[]")) {
		return false
	}
	head, tail, short := strings.Cut(text, "::")
	before, okHead := groups(head, !short)
	after, okTail := groups(tail, true)
	return okHead && okTail && (short && before+after < 8 || !short && before == 8)
}

// groups counts the groups of 16 bits in a part of an address. The last two may be an address of IPv4.
func groups(text string, last bool) (count int, ok bool) {
	if text == "" {
		return 0, true
	}
	parts := strings.Split(text, ":")
	for i, part := range parts {
		switch _, err := strconv.ParseUint(part, 16, 16); {
		case last && i == len(parts)-1 && strings.Contains(part, "."):
			if !isIPv4(part) {
				return 0, false
			}
			count += 2
		case err != nil || len(part) > 4:
			return 0, false
		default:
			count++
		}
	}
	return count, true
}

func isIPv4(text string) bool {
	parts := strings.Split(text, ".")
	for _, part := range parts {
		_, err := strconv.ParseUint(part, 10, 8)
		if err != nil || len(part) > 1 && part[0] == '0' {
			return false
		}
	}
	return len(parts) == 4
}

// isName reports whether host can be a name in the DNS.
func isName(host string) bool {
	if host == "" || len(host) > 253 {
		return false
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(host, "."), ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, labelBytes) != "" {
			return false
		}
	}
	return true
}

const labelBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

// In replaces the words workspace and ~ by directories.
func (l Limits) In(workspace, home string) Limits {
	return Limits{
		Write:   resolve(l.Write, workspace, home),
		Read:    resolve(l.Read, workspace, home),
		Net:     l.Net,
		Protect: resolve(l.Protect, workspace, home),
	}
}

func resolve(paths []string, workspace, home string) []string {
	resolved := make([]string, 0, len(paths))
	for _, p := range paths {
		first, rest, _ := strings.Cut(p, "/")
		switch first {
		case Workspace:
			p = path.Join(workspace, rest)
		case "~":
			p = path.Join(home, rest)
		}
		resolved = append(resolved, p)
	}
	return resolved
}

// Arguments are those of writ, beginning with "run", that hold resolved limits for a
// command. The decision's id may be empty.
func (l Limits) Arguments(decision string, command []string) []string {
	args := []string{"run"}
	add := func(flag string, values ...string) {
		for _, value := range values {
			args = append(args, flag+"="+value)
		}
	}
	add("--write", l.Write...)
	add("--read", l.Read...)
	add("--net", l.Net...)
	add("--protect", l.Protect...)
	if decision != "" {
		add("--decision", decision)
	}
	return append(append(args, "--"), command...)
}
