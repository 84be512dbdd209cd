package config

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// hostName is a name as DNS and container networks use it, in lower case. Names in other scripts are written in their
// xn-- form, as browsers send them.
var hostName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_])?$`)

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// IsPublicPlain reports whether people reach the server without TLS, from other machines.
func (c Config) IsPublicPlain() bool {
	u, err := url.Parse(c.PublicURL)
	return err == nil && u.Scheme == "http" && !isLoopback(u.Hostname())
}

// parseListen accepts no host names but localhost: what they resolve to, and so who can reach the server, would be
// decided elsewhere.
func parseListen(text string) (string, error) {
	if _, err := netip.ParseAddr(text); err != nil && text != "localhost" {
		return "", errors.New("must be an IP address or localhost, without a port: PORT sets that")
	}
	return text, nil
}

func parseHostPort(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = parseListen(host)
	}
	if err == nil {
		_, err = wholeNumber(0, 65535)(port)
	}
	if err != nil {
		return "", errors.New("must be host:port with an IP address or localhost as the host, such as 127.0.0.1:9090")
	}
	return text, nil
}

// parseNetwork reads a proxy that is trusted to name its clients' addresses. A whole address family is refused: every
// client could then claim any address, and limits by address would be useless.
func parseNetwork(text string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		address = address.Unmap()
		return netip.PrefixFrom(address, address.BitLen()), nil
	}
	network, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return netip.Prefix{}, errors.New("must be an IP address or a network such as 10.0.0.0/8")
	case network.Addr().Is4In6():
		return netip.Prefix{}, errors.New("must be written as an IPv4 network")
	case network.Bits() == 0:
		return netip.Prefix{}, errors.New("must not be every address: any client could then claim to be another")
	case network != network.Masked():
		return netip.Prefix{}, errors.New("must have no address bits beyond its length; a single address is written without one")
	}
	return network, nil
}

func parseHostName(text string) (string, error) {
	name := strings.ToLower(text)
	if !hostName.MatchString(name) {
		return "", errors.New("must be a host name, without a scheme or port")
	}
	return name, nil
}

// parsePublicURL refuses an address without TLS where the server speaks TLS: nobody would reach it there.
func (r *reader) parsePublicURL(text string) (string, error) {
	origin, err := parseOrigin(strings.TrimSuffix(text, "/"))
	if err == nil && strings.HasPrefix(origin, "http://") && r.isSet("WRIT_TLS_CERT") {
		return "", errors.New("must begin with https://, because this server speaks TLS: " + r.written("WRIT_TLS_CERT") +
			" is set")
	}
	return origin, err
}

func parseCORSOrigin(text string) (string, error) {
	if text == "*" {
		return "", errors.New("must not be *: every web site could then call the API from its visitors' browsers; list the origins")
	}
	return parseOrigin(text)
}

// parseOrigin reads scheme://host[:port] and writes it as a browser does, so that origins can be compared as text.
func parseOrigin(text string) (string, error) {
	wrong := errors.New("must be http:// or https:// with a host and at most a port, without user, path or query")
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.Path != "" || strings.ContainsAny(text, "?#") {
		return "", wrong
	}
	usual, ok := map[string]int{"http": 80, "https": 443}[u.Scheme]
	host, port, err := endpoint(u, usual)
	if !ok || err != nil {
		return "", wrong
	}
	if port != usual {
		return u.Scheme + "://" + net.JoinHostPort(host, strconv.Itoa(port)), nil
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return u.Scheme + "://" + host, nil
}

// endpoint returns the host of a URL in lower case, and its port or the usual one.
func endpoint(u *url.URL, usualPort int) (host string, port int, err error) {
	host = strings.ToLower(u.Hostname())
	if address, err := netip.ParseAddr(host); err == nil && address.Zone() == "" {
		host = address.String()
	} else if !hostName.MatchString(host) {
		return "", 0, errors.New("host is not valid")
	}
	if u.Port() == "" && !strings.HasSuffix(u.Host, ":") {
		return host, usualPort, nil
	}
	n, err := wholeNumber(1, 65535)(u.Port())
	return host, int(n), err
}
