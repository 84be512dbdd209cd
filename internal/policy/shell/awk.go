package shell

import "strings"

// awkProgram reads a program of awk. It is plain if it only prints and computes with
// fields. Of others we look for what starts a program or writes a file.
func (s *scan) awkProgram(program arg) {
	for _, text := range program.alternatives {
		if !program.exact || !awkPlain(text) {
			s.opaque = true
			s.dynamic = s.dynamic || awkActs(text)
		}
	}
}

// awkNames are the names that a plain program may use, besides those of one letter.
var awkNames = names(`print printf BEGIN END NF NR FNR FS OFS if else next exit length substr index int tolower toupper
	sum total count max min sprintf`)

// awkPlain reads words, numbers, texts and the signs of expressions. It has no > and no
// |, which write and start, and a pattern holds only letters, digits and a few signs.
func awkPlain(text string) bool {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			end := awkText(text[i+1:])
			if end < 0 {
				return false
			}
			i += end + 1
		case c == '/':
			end := strings.IndexByte(text[i+1:], '/')
			if end < 0 || strings.Trim(text[i+1:i+1+end], awkPatternSigns) != "" {
				return false
			}
			i += end + 2
		case isLetter(c):
			end := i
			for end < len(text) && (isLetter(text[end]) || text[end] >= '0' && text[end] <= '9') {
				end++
			}
			if end-i > 1 && !awkNames[text[i:end]] {
				return false
			}
			i = end
		case strings.HasPrefix(text[i:], "||"):
			i += 2
		case strings.IndexByte("0123456789 \t\n{}()$,;.+-*%=!<&?:~", c) >= 0:
			i++
		default:
			return false
		}
	}
	return text != ""
}

const awkPatternSigns = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ .^$*+?-:#="

// awkText is the length of a text up to and with its closing quote, or -1.
func awkText(rest string) int {
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '"':
			return i + 1
		case '\n':
			return -1
		case '\\':
			if i++; i >= len(rest) || strings.IndexByte(`nt"\`, rest[i]) < 0 {
				return -1
			}
		}
	}
	return -1
}

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// awkActs reports whether a program may start another one or write a file.
func awkActs(text string) bool {
	text = strings.ReplaceAll(text, "||", " ")
	for _, word := range []string{"|", "system", "getline", "@", "close", "fflush", "ARGV"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	_, after, prints := strings.Cut(text, "print")
	return text == "" || prints && strings.Contains(strings.ReplaceAll(after, ">=", " "), ">")
}
