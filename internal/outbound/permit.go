package outbound

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// Permit is an exception that the operator makes: a host by its name, or a network, at one port or at any. The zero
// value permits nothing.
type Permit struct {
	Host    string       // in lower case; empty if Network is set
	Network netip.Prefix // the addresses themselves, whatever name leads there
	Port    uint16       // 0: every port
}

func (p Permit) hasPort(port uint16) bool { return p.Port == 0 || p.Port == port }

var errPermit = errors.New("must be a host name, an IP address, either with a port, or a network such as 10.0.0.0/8")

// ParsePermit reads a host ("hooks.corp.example"), an address ("10.1.2.3", "[fd00::1]"), either with a port
// ("hooks.corp.example:8443"), or a network ("10.0.0.0/8"). Its errors do not quote the text.
func ParsePermit(text string) (Permit, error) {
	if strings.Contains(text, "/") {
		return parseNetwork(text)
	}
	host, port, err := splitPort(text)
	if err != nil {
		return Permit{}, errPermit
	}
	if address, err := netip.ParseAddr(host); err == nil {
		if address.Zone() != "" {
			return Permit{}, errPermit
		}
		address = address.Unmap()
		return Permit{Network: netip.PrefixFrom(address, address.BitLen()), Port: port}, nil
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	last := host[strings.LastIndex(host, ".")+1:]
	if !hostName().MatchString(host) || strings.Contains(host, "..") || isNumber(last) {
		return Permit{}, errPermit
	}
	return Permit{Host: host, Port: port}, nil
}

// splitPort separates a host from its port. A bare IPv6 address has none.
func splitPort(text string) (host string, port uint16, err error) {
	if _, err := netip.ParseAddr(text); err == nil || !strings.Contains(text, ":") {
		return text, 0, nil
	}
	if inner, ok := strings.CutPrefix(text, "["); ok && strings.HasSuffix(inner, "]") {
		return strings.TrimSuffix(inner, "]"), 0, nil
	}
	host, digits, err := net.SplitHostPort(text)
	if err != nil {
		return "", 0, err
	}
	number, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || number == 0 {
		return "", 0, errPermit
	}
	return host, uint16(number), nil
}

// parseNetwork refuses a whole address family: it would switch the guard off.
func parseNetwork(text string) (Permit, error) {
	network, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return Permit{}, errPermit
	case network.Addr().Is4In6():
		return Permit{}, errors.New("must be written as an IPv4 network")
	case network.Bits() == 0:
		return Permit{}, errors.New("must not be every address: any user could then reach whatever this server reaches")
	case network != network.Masked():
		return Permit{}, errors.New("must have no address bits beyond its length; a single address is written without one")
	}
	return Permit{Network: network}, nil
}
