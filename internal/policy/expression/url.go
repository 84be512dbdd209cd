package expression

import (
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
)

// address is a URL in a single spelling that can be compared.
type address struct {
	scheme string // lower case
	host   string // lower case, without port, user, brackets or final dot
	port   int64  // the scheme's default if none is given; 0 if it has no default
	path   string // decoded, without "." and ".."
}

// ports are the schemes that need a host, and their default ports. Browsers find a host
// in them even if slashes are missing.
var ports = map[string]int64{"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}

const errURL = failure("url: the text is not a URL that all parsers read alike")

// parseURL reads a URL. It refuses what browsers, libraries and Go read differently,
// because that is used to evade filters on hosts.
func parseURL(text string) (address, error) {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return address{}, errURL
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" {
		return address{}, errURL
	}
	port, known := ports[u.Scheme]
	if known && (u.Host == "" || u.Opaque != "") {
		return address{}, errURL
	}
	a := address{scheme: u.Scheme, port: port, path: cleanURLPath(u.Path)}
	if u.Host == "" {
		return a, nil
	}
	if a.host, err = parseHost(u); err != nil {
		return address{}, err
	}
	if given := u.Port(); given != "" {
		number, err := strconv.ParseUint(given, 10, 16)
		if err != nil {
			return address{}, errURL
		}
		a.port = int64(number)
	}
	return a, nil
}

func parseHost(u *url.URL) (string, error) {
	host := strings.ToLower(u.Hostname())
	if strings.HasPrefix(u.Host, "[") {
		addr, err := netip.ParseAddr(host)
		if err != nil || addr.Zone() != "" {
			return "", errURL
		}
		return addr.Unmap().String(), nil
	}
	host = strings.TrimSuffix(host, ".")
	for _, r := range host {
		// International and escaped names have several spellings.
		if !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '.' || r == '_') {
			return "", errURL
		}
	}
	if host == "" || strings.HasPrefix(host, ".") || strings.HasSuffix(host, ".") || strings.Contains(host, "..") {
		return "", errURL
	}
	if last := host[strings.LastIndexByte(host, '.')+1:]; isNumber(last) {
		// A browser reads such a host as an IPv4 address.
		if _, err := netip.ParseAddr(host); err != nil {
			return "", errURL
		}
	}
	return host, nil
}

// isNumber reports whether a browser reads the last part of a host as a number,
// and so the host as an IPv4 address.
func isNumber(label string) bool {
	digits, hex := strings.CutPrefix(label, "0x")
	for _, r := range digits {
		if !('0' <= r && r <= '9' || hex && 'a' <= r && r <= 'f') {
			return false
		}
	}
	return true
}

func cleanURLPath(text string) string {
	if !strings.HasPrefix(text, "/") {
		return text
	}
	clean := path.Clean(text)
	if clean != "/" &&
		(strings.HasSuffix(text, "/") || strings.HasSuffix(text, "/.") || strings.HasSuffix(text, "/..")) {
		clean += "/"
	}
	return clean
}
