package authority

import (
	"fmt"
	"net/url"
	"strings"
)

// Kind is what a certificate is for. It is part of the name.
type Kind string

// The kinds.
const (
	Agent  Kind = "agent"
	Server Kind = "server"
)

// Valid reports whether certificates of this kind are made.
func (k Kind) Valid() bool { return k == Agent || k == Server }

// Name is who a certificate is for.
type Name struct {
	OrgID string // the trust domain
	Kind  Kind
	ID    string // of the agent, which is any text, or of the MCP server
}

// SPIFFE is the name as a SPIFFE ID. Its path may hold letters, digits, dots, hyphens and underscores alone, and no
// escapes, so that any other byte of an id, and the underscore, is written as an underscore and two hexadecimal
// digits: two ids never have the same name.
func (n Name) SPIFFE() string {
	var b strings.Builder
	fmt.Fprintf(&b, "spiffe://%s/%s/", n.OrgID, n.Kind)
	dots := strings.Trim(n.ID, ".") == ""
	for i := range len(n.ID) {
		if c := n.ID[i]; isPlain(c) && !(dots && c == '.') {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

func (n Name) url() *url.URL {
	rest := strings.TrimPrefix(n.SPIFFE(), "spiffe://"+n.OrgID)
	return &url.URL{Scheme: "spiffe", Host: n.OrgID, Path: rest}
}

// common is the name as subjects of certificates have it, for people: at most 64 characters. The SPIFFE ID counts.
func (n Name) common() string {
	path := strings.TrimPrefix(n.SPIFFE(), "spiffe://"+n.OrgID+"/")
	if len(path) > 64 {
		return path[:64]
	}
	return path
}

func isPlain(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-'
}
