package outbound_test

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"writ/internal/outbound"
	"writ/internal/outbound/nametest"
)

// notForUsers are addresses of every kind that a user's webhook must not reach.
var notForUsers = []string{
	"127.0.0.1", "127.8.9.10", "::1", // loopback
	// private
	"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.254", "192.168.1.1", "fc00::1", "fdff::1", "fec0::1",
	"169.254.0.1", "fe80::1", // link-local
	"100.64.0.1", "100.127.255.254", // carriers' NAT
	// metadata
	"169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254",
	"fd20:ce::254",
	"0.0.0.0", "0.1.2.3", "::", // unspecified
	// multicast, broadcast, reserved
	"224.0.0.1", "239.255.255.250", "255.255.255.255", "240.0.0.1", "ff02::1", "ff0e::1",
	"192.0.2.1", "198.51.100.7", "203.0.113.9", "2001:db8::1", "3fff::1", // documentation
	"198.18.0.1", "198.19.255.255", "192.88.99.1", // benchmarks, relays
	"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", // IPv4 in IPv6
	"::127.0.0.1", "::a00:1", // the old form of the same
	"2002:7f00:1::", "2002:a9fe:a9fe::1", "2002:808:808::1", // 6to4
	"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", // NAT64
	"2001::1", "2001:0:7f00:1::", // Teredo
	"5f00::1", "100::1", // segment routing, discard
}

var forUsers = []string{
	"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "126.255.255.255", "128.0.0.1",
	"169.253.255.255", "169.255.0.1", "172.15.255.255", "172.32.0.1", "192.167.255.255", "192.169.0.1",
	"223.255.255.255",
	"2606:4700::1111", "2a00:1450:4001::1", "2001:4860:4860::8888", "::ffff:1.1.1.1",
}

func isRefused(err error) bool {
	var refusal *outbound.Refusal
	return errors.As(err, &refusal)
}

func TestAddressesInTheURL(t *testing.T) {
	t.Parallel()
	client := newClient(t, outbound.Options{})
	for _, address := range notForUsers {
		for _, scheme := range []string{"http://", "https://"} {
			target := scheme + net.JoinHostPort(address, "443") + "/hook"
			if err := client.Check(target); !isRefused(err) {
				t.Errorf("Check(%s) = %v, want a refusal", target, err)
			}
			if _, err := client.Post(t.Context(), outbound.Request{URL: target}); !isRefused(err) {
				t.Errorf("Post(%s) = %v, want a refusal", target, err)
			}
		}
	}
	for _, address := range forUsers {
		if err := client.Check("https://" + net.JoinHostPort(address, "443") + "/hook"); err != nil {
			t.Errorf("Check of %s = %v, want none", address, err)
		}
	}
}

// TestAddressesBehindAName is the guard that counts: nothing in the URL tells
// where the name leads.
func TestAddressesBehindAName(t *testing.T) {
	t.Parallel()
	names := nametest.New()
	client := newClient(t, outbound.Options{Resolver: names.Resolver()})
	const target = "https://hooks.example.com/services/T0"
	if err := client.Check(target); err != nil {
		t.Fatalf("Check of a name: %v", err)
	}
	for _, text := range notForUsers {
		// A name server gives IPv4 in IPv6 form as IPv6; the dialler makes IPv4 of it.
		names.Set("hooks.example.com", text)
		if _, err := client.Post(t.Context(), outbound.Request{URL: target}); !isRefused(err) {
			t.Errorf("a name that leads to %s: %v, want a refusal", text, err)
		}
	}
}

// TestRebinding changes what a name means between two requests, and between the
// check and the request, while something listens at the forbidden address.
func TestRebinding(t *testing.T) {
	t.Parallel()
	trap := newTarget(t, fine)
	names := nametest.New()
	names.Set("hooks.example.com", "127.0.0.1")
	client := newClient(t, outbound.Options{Resolver: names.Resolver(), Permits: permits(t, "127.0.0.1:"+trap.port)})
	target := "http://hooks.example.com:" + trap.port + "/"
	if answer, err := client.Post(t.Context(), outbound.Request{URL: target}); err != nil || !answer.IsSuccess() {
		t.Fatalf("while the name leads to a permitted address: %v %v", answer, err)
	}
	client.Close()
	elsewhere, err := net.Listen("tcp", "127.0.0.2:"+trap.port)
	if err != nil {
		t.Fatal(err)
	}
	defer elsewhere.Close()
	names.Set("hooks.example.com", "127.0.0.2")
	if err := client.Check(target); err != nil {
		t.Fatalf("Check resolves names: %v", err)
	}
	if _, err := client.Post(t.Context(), outbound.Request{URL: target}); !isRefused(err) {
		t.Errorf("after the name moved: %v, want a refusal", err)
	}
}

// TestSeveralAddresses gives a name both a refused and a permitted address: only
// the latter is ever connected to.
func TestSeveralAddresses(t *testing.T) {
	t.Parallel()
	target := newTarget(t, fine)
	names := nametest.New()
	names.Set("hooks.example.com", "127.0.0.3", "127.0.0.1")
	trap, err := net.Listen("tcp", "127.0.0.3:"+target.port)
	if err != nil {
		t.Fatal(err)
	}
	defer trap.Close()
	client := newClient(t, outbound.Options{Resolver: names.Resolver(), Permits: permits(t, "127.0.0.1:"+target.port)})
	answer, err := client.Post(t.Context(), outbound.Request{URL: "http://hooks.example.com:" + target.port})
	if err != nil || string(answer.Body) != "ok" {
		t.Errorf("Post = %q, %v; want the permitted address to answer", answer.Body, err)
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	client := newClient(t, outbound.Options{})
	for _, c := range []struct{ name, url, want string }{
		{"nothing", "", "scheme"},
		{"no scheme", "hooks.example.com/x", "scheme"},
		{"file", "file:///etc/passwd", "scheme"},
		{"gopher", "gopher://127.0.0.1:70/_x", "scheme"},
		{"ftp", "ftp://hooks.example.com/x", "scheme"},
		{"dict", "dict://hooks.example.com:11211/x", "scheme"},
		{"opaque", "http:hooks.example.com", "not a URL"},
		{"javascript", "javascript:alert(1)", "not a URL"},
		{"user", "https://robot@hooks.example.com/", "user name"},
		{"password", "https://robot:pass@hooks.example.com/", "user name"},
		{"public host as user", "https://hooks.example.com@127.0.0.1/", "user name"},
		{"empty user", "https://@hooks.example.com/", "user name"},
		{"fragment", "https://hooks.example.com/#@127.0.0.1", "fragment"},
		{"backslash", `https://hooks.example.com\@127.0.0.1/`, "not a URL"},
		{"line break", "https://hooks.example.com/\r\nX: y", "not a URL"},
		{"space in host", "https://hooks example.com/", "not a URL"},
		{"no host", "https:///x", "host"},
		{"only a port", "https://:443/", "host"},
		{"double dot", "https://hooks..example.com/", "host"},
		{"other script", "https://bücher.example/", "host"},
		{"full-width digits", "http://１２７.0.0.1/", "host"},
		{"enclosed digits", "http://①②⑦.0.0.1/", "host"},
		{"decimal address", "http://2130706433/", "usual form"},
		{"hexadecimal address", "http://0x7f000001/", "usual form"},
		{"hexadecimal part", "http://127.0.0.0x1/", "usual form"},
		{"octal address", "http://0177.0.0.1/", "usual form"},
		{"octal number", "http://017700000001/", "usual form"},
		{"short address", "http://127.1/", "usual form"},
		{"decimal metadata", "http://2852039166/latest/meta-data/", "usual form"},
		{"address with dot", "http://127.0.0.1./", "not a public one"},
		{"zone", "http://[fe80::1%25eth0]/", "zone"},
		{"localhost", "http://localhost/", "WRIT_OUTBOUND_ALLOW, by the name or address that the URL has"},
		{"localhost with dot", "http://LOCALHOST./", "not a public one"},
		{"below localhost", "http://a.localhost/", "not a public one"},
		{"odd port", "http://hooks.example.com:6379/", "port must be 80 or 443"},
		{"odd port of an address", "http://1.1.1.1:22/", "port must be 80 or 443"},
		{"port 0", "http://hooks.example.com:0/", "port must be a number"},
		{"port too large", "http://hooks.example.com:65616/", "port must be a number"},
		{"port missing", "http://hooks.example.com:/", "port is missing"},
		{"too long", "https://hooks.example.com/" + strings.Repeat("a", outbound.MaxURL), "longer than"},
	} {
		err := client.Check(c.url)
		if !isRefused(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Check(%q) = %v, want a refusal with %q", c.name, c.url, err, c.want)
		}
	}
	for _, url := range []string{
		"https://hooks.slack.com/services/T0/B0/x", "http://hooks.example.com", "HTTPS://Hooks.Example.COM./a?b=c",
		"https://hooks.example.com:443/", "https://xn--bcher-kva.example/", "https://0x7f.example/",
		"https://my_host.example/",
	} {
		if err := client.Check(url); err != nil {
			t.Errorf("Check(%q) = %v, want none", url, err)
		}
	}
}

func TestParsePermit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]outbound.Permit{
		"Hooks.Corp.example.": {Host: "hooks.corp.example"},
		"hooks.corp:8443":     {Host: "hooks.corp", Port: 8443},
		"10.1.2.3":            {Network: netip.MustParsePrefix("10.1.2.3/32")},
		"10.1.2.3:9000":       {Network: netip.MustParsePrefix("10.1.2.3/32"), Port: 9000},
		"::ffff:10.1.2.3":     {Network: netip.MustParsePrefix("10.1.2.3/32")},
		"fd00::1":             {Network: netip.MustParsePrefix("fd00::1/128")},
		"[fd00::1]":           {Network: netip.MustParsePrefix("fd00::1/128")},
		"[fd00::1]:9000":      {Network: netip.MustParsePrefix("fd00::1/128"), Port: 9000},
		"10.0.0.0/8":          {Network: netip.MustParsePrefix("10.0.0.0/8")},
		"fd00::/8":            {Network: netip.MustParsePrefix("fd00::/8")},
	} {
		if got, err := outbound.ParsePermit(text); err != nil || got != want {
			t.Errorf("ParsePermit(%q) = %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "*", "*.corp", "a b", "http://a.example", "a.example/x", "0.0.0.0/0", "::/0", "10.0.0.1/8",
		"::ffff:10.0.0.0/104",
		"fe80::1%eth0", "a:0", "a:65536", "a:", ":80", "127.1", "2130706433", "0x7f000001", "a..b", "[a]x",
		"10.0.0.0/8:80",
	} {
		if got, err := outbound.ParsePermit(text); err == nil || got != (outbound.Permit{}) {
			t.Errorf("ParsePermit(%q) = %+v, %v; want an error", text, got, err)
		}
	}
}

// TestPermits says what each permit opens, and what stays closed beside it.
func TestPermits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, permit, leadsTo, url string
		opens                      bool
	}{
		{"network, literal", "10.0.0.0/8", "", "http://10.1.2.3:9000/", true},
		{"beside the network", "10.0.0.0/8", "", "http://192.168.0.1/", false},
		{"mapped form", "10.0.0.0/8", "", "http://[::ffff:10.1.2.3]/", true},
		{"address with port", "10.1.2.3:9000", "", "http://10.1.2.3:9000/", true},
		{"its other port", "10.1.2.3:9000", "", "http://10.1.2.3:9001/", false},
		{"wide network, metadata in it", "169.254.0.0/16", "", "http://169.254.169.254/", false},
		{"the metadata address itself", "169.254.169.254", "", "http://169.254.169.254/", true},
		{"multicast never", "224.0.0.1", "", "http://224.0.0.1/", false},
		{"unspecified never", "0.0.0.0", "", "http://0.0.0.0/", false},
		{"loopback network does not open the unspecified", "127.0.0.0/8", "", "http://0.0.0.0/", false},
		{"localhost", "localhost:9000", "", "http://localhost:9000/", true},
		{"odd port of a public host", "hooks.example.com:8443", "", "https://hooks.example.com:8443/", true},
		{"another host at that port", "hooks.example.com:8443", "", "https://other.example.com:8443/", false},
		{"a name below", "corp.example", "", "https://a.corp.example:8443/", false},
		{
			"named host at a metadata address", "hooks.corp.example", "169.254.169.254", "http://hooks.corp.example/",
			false,
		},
		{
			"named host at a link-local address", "hooks.corp.example", "169.254.7.7", "http://hooks.corp.example/",
			false,
		},
		{"named host at multicast", "hooks.corp.example", "224.0.0.1", "http://hooks.corp.example/", false},
		{"other name at a private address", "hooks.corp.example", "10.0.0.1", "http://other.corp.example/", false},
		{
			"odd port of a network, at a public address", "10.0.0.0/8", "1.1.1.1", "http://other.corp.example:6379/",
			false,
		},
	} {
		names := nametest.New()
		client := newClient(t, outbound.Options{Resolver: names.Resolver(), Permits: permits(t, c.permit)})
		err := client.Check(c.url)
		if c.leadsTo != "" {
			names.Set("hooks.corp.example", c.leadsTo)
			names.Set("other.corp.example", c.leadsTo)
			_, err = client.Post(t.Context(), outbound.Request{URL: c.url})
		}
		if c.opens != (err == nil) || err != nil && !isRefused(err) {
			t.Errorf("%s: with %s, %s (%s): %v; want opens = %t", c.name, c.permit, c.url, c.leadsTo, err, c.opens)
		}
	}
}
