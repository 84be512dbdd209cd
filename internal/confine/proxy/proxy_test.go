package proxy

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
)

func TestProxyAddresses(t *testing.T) {
	t.Parallel()
	p := New([]string{"one.test:443", "[::ffff:127.0.0.1]:80"})
	p.lookup = func(_ context.Context, _, host string) ([]netip.Addr, error) {
		return map[string][]netip.Addr{
			"private.test": {netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("169.254.169.254")},
			"mapped.test":  {netip.MustParseAddr("::ffff:127.0.0.1")},
			"mixed.test":   {netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("1.1.1.1")},
		}[host], nil
	}
	for host, want := range map[string]string{
		"private.test": "[]", "mapped.test": "[]", "mixed.test": "[1.1.1.1]", "127.0.0.1": "[127.0.0.1]",
	} {
		found, err := p.addresses(t.Context(), host)
		var texts []string
		for _, address := range found {
			texts = append(texts, address.String())
		}
		if got := "[" + strings.Join(texts, " ") + "]"; got != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", host, got, err, want)
		}
	}
	for to, allowed := range map[string]bool{
		"one.test:443": true, "ONE.test.:443": true, "one.test:80": false, "two.test:443": false, "127.0.0.1:80": true,
		"one.test": false, "": false,
	} {
		if p.allowed[target(to)] != allowed {
			t.Errorf("%q is allowed: %v", to, !allowed)
		}
	}
}

func TestProxyKnowsConnectAlone(t *testing.T) {
	t.Parallel()
	p := New([]string{"127.0.0.1:80"})
	for request, want := range map[string]string{
		"GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n":   "HTTP/1.1 405",
		"CONNECT 127.0.0.1:81 HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n": "HTTP/1.1 403",
		"CONNECT evil.test:443 HTTP/1.1\r\nHost: x\r\n\r\n":           "HTTP/1.1 403",
		"nonsense\r\n\r\n": "",
	} {
		ours, theirs := net.Pipe()
		go func() {
			defer theirs.Close()
			p.handle(theirs)
		}()
		go func() { _, _ = ours.Write([]byte(request)) }()
		answer := make([]byte, 12)
		n, _ := ours.Read(answer)
		if got := string(answer[:n]); got != want {
			t.Errorf("%q is answered with %q, want %q", request, got, want)
		}
		_ = ours.Close()
	}
}

// TestProxyChecksTheName: a server that many sites share answers for all of them.
func TestProxyChecksTheName(t *testing.T) {
	t.Parallel()
	hello := func(name string) func(net.Conn) {
		return func(conn net.Conn) {
			_ = tls.Client(conn, &tls.Config{ServerName: name, InsecureSkipVerify: name == ""}).Handshake()
		}
	}
	for _, c := range []struct {
		to, refused string
		send        func(net.Conn)
	}{
		{"one.test:443", "", hello("one.test")},
		{"one.test:443", "", hello("ONE.test")},
		{"one.test:443", "two.test by way of one.test:443", hello("two.test")},
		{"one.test:443", " by way of one.test:443", hello("")},
		{"one.test:22", "", func(conn net.Conn) { _, _ = conn.Write([]byte("SSH-2.0-x")) }},
		{"192.0.2.1:443", "", hello("two.test")},
	} {
		ours, theirs := net.Pipe()
		go c.send(ours)
		p := New(nil)
		begin := make([]byte, 1)
		_, err := io.ReadFull(p.named(theirs, c.to, nil), begin)
		got := ""
		if refused := p.Refused(); len(refused) > 0 {
			got = refused[0].Name
		}
		if got != c.refused || (err == nil) != (c.refused == "") {
			t.Errorf("%s: refused %q, %v, want %q", c.to, got, err, c.refused)
		}
		_ = ours.Close()
	}
}
