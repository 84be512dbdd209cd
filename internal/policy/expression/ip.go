package expression

import "net/netip"

// ipAddress is an address in one form: an IPv4 address written as IPv6 is IPv4.
type ipAddress netip.Addr

// parseIP reads an address in dotted or colon form. It refuses the other forms that a C
// library reads (a plain number, octal or hexadecimal parts, fewer than four parts),
// because they are used to evade filters.
func parseIP(text string) (ipAddress, error) {
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		return ipAddress{}, failure("ip: the text is not an IP address")
	}
	return ipAddress(addr.Unmap()), nil
}

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

func (i ipAddress) inRange(r netip.Prefix) (bool, error) { return r.Contains(netip.Addr(i)), nil }
