package expression

import (
	"net/netip"
)

// ipAddress is an address as software compares it: an IPv4 address that is
// written as IPv6 is the IPv4 address.
type ipAddress netip.Addr

// parseIP reads an address in the dotted or the colon form. What a C library
// would read as one too (a plain number, octal or hexadecimal parts, fewer than
// four parts) is refused: it is how filters on addresses are evaded.
func parseIP(text string) (ipAddress, error) {
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		return ipAddress{}, failure("ip: the text is no IP address")
	}
	return ipAddress(addr.Unmap()), nil
}

// parseRange reads the range that a policy gives.
func parseRange(text string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return netip.Prefix{}, failure(`inCidr: must be a range such as "10.0.0.0/8"`)
	case prefix.Addr().Is4In6():
		return netip.Prefix{}, failure("inCidr: must be written as an IPv4 range")
	case prefix != prefix.Masked():
		return netip.Prefix{}, failure("inCidr: has bits set after the prefix; did you mean " +
			prefix.Masked().String() + "?")
	}
	return prefix, nil
}

func (i ipAddress) inRange(r netip.Prefix) bool { return r.Contains(netip.Addr(i)) }
