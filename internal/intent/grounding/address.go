package grounding

import (
	"net/netip"
	"strings"
	"unicode/utf8"
)

// address is a kind of address: whoever has it gets what is sent there.
type address uint8

const (
	noAddress address = iota
	mailAddress
	webAddress
	account // an account, phone number or other long id
)

// addressOf is the kind of address that an argument's value is.
func addressOf(name, value string) address {
	value = strings.TrimSpace(value)
	switch {
	case isMail(value):
		return mailAddress
	case isWeb(name, value):
		return webAddress
	case isAccount(value):
		return account
	}
	return noAddress
}

// isMail reports whether a value is an e-mail address. It takes more than mail servers
// would: a doubtful address is treated as one.
func isMail(value string) bool {
	at := strings.LastIndexByte(value, '@')
	return at > 0 && strings.IndexByte(value[at:], '.') > 1 && !strings.ContainsAny(value, " \t\n") &&
		!strings.Contains(value, "://")
}

// isWeb reports whether an argument's value is a URL or host. A dotted name is one only
// where the argument is named so: README.md is none.
func isWeb(name, value string) bool {
	if strings.ContainsAny(value, " \t\n") {
		return false
	}
	return hasWeb(value) || isIP(value) || dotted(value) && hasAnyWord(name, webNames)
}

// reaches reports whether an argument names a URL or host, also within longer text.
func reaches(name, value string) bool {
	if isWeb(name, strings.TrimSpace(value)) {
		return true
	}
	for word := range strings.FieldsFuncSeq(value, splitsLinks) {
		if word = trimLink(word); hasWeb(word) || isIP(word) {
			return true
		}
	}
	return false
}

// hasWeb reports whether a word is a URL: a scheme with an authority, // or www. in front.
func hasWeb(word string) bool {
	if strings.HasPrefix(word, "//") && len(word) > 2 || strings.Contains(word, "://") || hasScheme(word) {
		return true
	}
	const www = "www."
	for i := 0; i+len(www) < len(word); i++ {
		if strings.EqualFold(word[i:i+len(www)], www) && (i == 0 || !isWordRune(rune(word[i-1]))) {
			return true
		}
	}
	return false
}

// hasScheme reports whether a word begins as a URL does, whose slashes many programs add themselves.
func hasScheme(word string) bool {
	for _, scheme := range []string{"http:", "https:", "ftp:"} {
		if len(word) > len(scheme) && strings.EqualFold(word[:len(scheme)], scheme) {
			return true
		}
	}
	return false
}

// isIP reports whether a value is an IP address, perhaps with a port and a path.
func isIP(value string) bool {
	host, _, _ := strings.Cut(value, "/")
	if !strings.ContainsAny(host, ".:") {
		return false
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	_, err := netip.ParseAddrPort(host)
	return err == nil
}

// dotted reports whether a value could be a host: labels with a dot between them.
func dotted(value string) bool {
	dot := strings.IndexByte(value, '.')
	return dot > 0 && dot < len(value)-1 && !strings.Contains(value, "@")
}

// Length and digits that make a value a long id.
const (
	accountLength = 9
	accountDigits = 5
)

// isAccount reports whether a value is one long id: letters and digits, perhaps in
// groups, at least half of them digits.
func isAccount(value string) bool {
	length, digits := 0, 0
	for _, r := range value {
		switch {
		case r >= '0' && r <= '9':
			digits++
			length++
		case r < utf8.RuneSelf && isWordRune(r):
			length++
		case r != ' ' && r != '-' && r != '+' && r != '(' && r != ')':
			return false
		}
	}
	return length >= accountLength && digits >= accountDigits && 2*digits >= length && !isDate(value)
}

// links are the URLs in a text, as identities are compared.
func links(text string) []string {
	var found []string
	for word := range strings.FieldsFuncSeq(text, splitsLinks) {
		if word = trimLink(word); hasWeb(word) || isIP(word) {
			found = append(found, identity(word))
		}
	}
	return found
}

// hostOf is the host of a link, with its port: whoever has it sees what the rest of the link says.
func hostOf(link string) string {
	link = strings.TrimLeft(link, "/")
	if end := strings.IndexAny(link, "/?#"); end >= 0 {
		link = link[:end]
	}
	return link[strings.LastIndexByte(link, '@')+1:]
}

// mails are the e-mail addresses in a text, as identities are compared.
func mails(text string) []string {
	var found []string
	for word := range strings.FieldsFuncSeq(text, splitsLinks) {
		if word = strings.TrimPrefix(trimLink(word), "mailto:"); isMail(word) {
			found = append(found, identity(word))
		}
	}
	return found
}

func trimLink(word string) string { return strings.Trim(word, ".,;:!?'*_") }

func splitsLinks(r rune) bool {
	return r == ',' || r == ';' || r <= ' ' || strings.ContainsRune("<>\"()[]`|{}\u00a0\u3000", r)
}
