package outbound

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// hostName is a DNS name in lower case. It takes a millisecond to compile, which not every start of a program
// should pay.
var hostName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_])?$`)
})

// guard decides what may be called: first by the URL, then by the address.
type guard struct{ permits []Permit }

// parse reads a target and refuses what is wrong in its text alone.
func (g guard) parse(target string) (*url.URL, error) {
	u, host, port, err := split(target)
	if err != nil {
		return nil, err
	}
	return u, g.checkHost(host, port)
}

// split reads the URL of a target, and its host and port.
func split(target string) (u *url.URL, host string, port uint16, err error) {
	if len(target) > MaxURL {
		return nil, "", 0, &Refusal{Reason: fmt.Sprintf("the URL is longer than %d bytes", MaxURL)}
	}
	u, err = url.Parse(target)
	switch {
	case err != nil || u.Opaque != "":
		err = &Refusal{Reason: "it is not a URL such as https://example.org/path"}
	case u.Scheme != "http" && u.Scheme != "https":
		err = &Refusal{Reason: "the scheme must be https or http"}
	case u.User != nil:
		err = &Refusal{Reason: "the URL must not contain a user name or password"}
	case strings.Contains(target, "#"):
		err = &Refusal{Reason: "the URL must not have a fragment"}
	}
	if err == nil {
		host, err = readHost(u)
	}
	if err == nil {
		port, err = readPort(u)
	}
	return u, host, port, err
}

// checkHost refuses hosts that need no resolver.
func (g guard) checkHost(host string, port uint16) error {
	if address, err := netip.ParseAddr(host); err == nil {
		return g.checkAddress(host, netip.AddrPortFrom(address, port))
	}
	if !g.mayUsePort(host, port) {
		return unusualPort
	}
	isLocal := host == "localhost" || strings.HasSuffix(host, ".localhost")
	if isLocal && !g.permitsHost(host, port) {
		return notPublic
	}
	return nil
}

// readHost returns the host in lower case without the final dot of a full name.
//
// A name whose last label is a number is how browsers and C libraries write an address in decimal, octal or
// hexadecimal ("2130706433", "0x7f.1"). No real name looks like this, and only the resolver would notice that it is an
// address.
func readHost(u *url.URL) (string, error) {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if address, err := netip.ParseAddr(host); err == nil {
		if address.Zone() != "" {
			return "", &Refusal{Reason: "the address must not have a zone"}
		}
		return address.String(), nil
	}
	if !hostName().MatchString(host) || strings.Contains(host, "..") {
		return "", &Refusal{Reason: "the host is not a valid name or address"}
	}
	if isNumber(host[strings.LastIndex(host, ".")+1:]) {
		return "", &Refusal{Reason: "the host must be a name, or an address in its usual form"}
	}
	return host, nil
}

func isNumber(label string) bool {
	if _, err := strconv.ParseUint(strings.TrimPrefix(label, "0x"), 16, 64); err == nil &&
		strings.HasPrefix(label, "0x") {
		return true
	}
	return label == "0x" || strings.Trim(label, "0123456789") == ""
}

func readPort(u *url.URL) (uint16, error) {
	text := u.Port()
	switch {
	case text == "" && strings.HasSuffix(u.Host, ":"):
		return 0, &Refusal{Reason: "the port is missing"}
	case text == "" && u.Scheme == "https":
		return 443, nil
	case text == "":
		return 80, nil
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return 0, &Refusal{Reason: "the port must be a number from 1 to 65535"}
	}
	return uint16(port), nil
}

// control is the dialer's hook: it sees the address after resolution, right before the connection, and its error ends
// the attempt.
func (g guard) control(host string) func(context.Context, string, string, syscall.RawConn) error {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return func(_ context.Context, network, address string, _ syscall.RawConn) error {
		if network != "tcp4" && network != "tcp6" {
			return notPublic
		}
		dialled, err := netip.ParseAddrPort(address)
		if err != nil {
			return notPublic
		}
		return g.checkAddress(host, dialled)
	}
}

// checkAddress is the rule itself: a public address at a usual port, or what the operator permits. A permitted name
// allows neither link-local addresses nor metadata services, because whoever controls the name chooses the address.
func (g guard) checkAddress(host string, to netip.AddrPort) error {
	address := to.Addr().Unmap()
	kind := kindOf(address)
	switch {
	case address.Zone() != "" || kind == never:
		return notPublic
	case kind == public && isUsual(to.Port()):
		return nil
	case g.permitsAddress(address, to.Port(), kind):
		return nil
	case (kind == public || kind == internal) && g.permitsHost(host, to.Port()):
		return nil
	case kind == public:
		return unusualPort
	}
	return notPublic
}

// isUsual reports whether a port is usual for web servers.
func isUsual(port uint16) bool { return port == 80 || port == 443 }

// mayUsePort reports whether a port could be dialed at a host of which only the name is known. If a network is
// permitted, the address decides later.
func (g guard) mayUsePort(host string, port uint16) bool {
	if isUsual(port) || g.permitsHost(host, port) {
		return true
	}
	for _, p := range g.permits {
		if p.Network.IsValid() && p.hasPort(port) {
			return true
		}
	}
	return false
}

func (g guard) permitsHost(host string, port uint16) bool {
	for _, p := range g.permits {
		if p.Host != "" && p.Host == host && p.hasPort(port) {
			return true
		}
	}
	return false
}

// permitsAddress asks the permitted networks. A metadata service hands out the machine's credentials, so a network
// that happens to contain it is not enough.
func (g guard) permitsAddress(address netip.Addr, port uint16, kind kind) bool {
	for _, p := range g.permits {
		if !p.Network.IsValid() || !p.Network.Contains(address) || !p.hasPort(port) {
			continue
		}
		if kind != metadata || p.Network.IsSingleIP() {
			return true
		}
	}
	return false
}
