package outbound

import "net/netip"

// kind classifies an address. The zero value is the strictest.
type kind int

const (
	never     kind = iota // no host has it: unspecified, multicast, reserved
	metadata              // a cloud's metadata service
	linkLocal             // only on this machine's own network link
	internal              // loopback, private, or not for the public internet
	public
)

// metadataServices are the addresses at which clouds hand out credentials. Azure's and Oracle's are in no private
// range.
var metadataServices = addresses(
	"169.254.169.254", // AWS, Google, Azure, DigitalOcean, OpenStack
	"169.254.170.2",   // AWS containers
	"169.254.170.23",  // AWS EKS pods
	"169.254.0.23",    // Tencent
	"100.100.100.200", // Alibaba
	"168.63.129.16",   // Azure's wire server
	"192.0.0.192",     // Oracle
	"fd00:ec2::254", "fd00:ec2::23",
	"fd20:ce::254", // Google
	"fe80::a9fe:a9fe",
)

// unreachable holds what no host may have. 0.0.0.0 belongs here: systems connect it to this machine.
var unreachable = prefixes(
	"0.0.0.0/8", "224.0.0.0/4", "240.0.0.0/4", // this network, multicast, reserved with the broadcast address
	"::/128", "ff00::/8",
)

// special are the parts of IPv4, and of IPv6's one range of public unicast, that IANA's registries of special
// addresses exclude from the public internet.
var special = prefixes(
	"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", // private
	"127.0.0.0/8",                                       // loopback
	"100.64.0.0/10",                                     // carriers' NAT
	"192.0.0.0/24",                                      // protocol assignments
	"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", // documentation
	"192.88.99.0/24",             // relays of 6to4
	"198.18.0.0/15",              // benchmarks
	"2001::/23",                  // protocol assignments, Teredo among them
	"2001:db8::/32", "3fff::/20", // documentation
	"2002::/16", // 6to4: an IPv4 address inside
)

// publicIPv6 is the only range of public IPv6 addresses. Outside of it are loopback, unique local and site-local
// addresses, and those that contain an IPv4 address: ::a.b.c.d, NAT64 (64:ff9b::/96, 64:ff9b:1::/48).
var publicIPv6 = netip.MustParsePrefix("2000::/3")

// kindOf classifies an address that is not IPv4 in IPv6 form.
func kindOf(address netip.Addr) kind {
	switch {
	case !address.IsValid() || isIn(address, unreachable):
		return never
	case metadataServices[address]:
		return metadata
	case address.IsLinkLocalUnicast():
		return linkLocal
	case isIn(address, special) || address.Is6() && !publicIPv6.Contains(address):
		return internal
	}
	return public
}

func isIn(address netip.Addr, networks []netip.Prefix) bool {
	for _, network := range networks {
		if network.Contains(address) {
			return true
		}
	}
	return false
}

func prefixes(texts ...string) []netip.Prefix {
	networks := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		networks = append(networks, netip.MustParsePrefix(text))
	}
	return networks
}

func addresses(texts ...string) map[netip.Addr]bool {
	set := make(map[netip.Addr]bool, len(texts))
	for _, text := range texts {
		set[netip.MustParseAddr(text)] = true
	}
	return set
}

// IsPublic reports whether an address is one of the public internet.
func IsPublic(address netip.Addr) bool { return kindOf(address.Unmap()) == public }
