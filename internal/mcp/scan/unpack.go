package scan

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/ascii85"
	"io"
	"strings"
	"unicode/utf8"
)

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// unBase85 is what stands in a text between the marks of base85; empty: nothing that can be read.
func unBase85(text string) string {
	_, rest, found := strings.Cut(text, "<~")
	body, _, closed := strings.Cut(rest, "~>")
	if !found || !closed {
		return ""
	}
	plain := make([]byte, len(body)+4)
	n, _, err := ascii85.Decode(plain, []byte(body), true)
	if err != nil || !isReadable(plain[:n]) {
		return ""
	}
	return string(plain[:n])
}

// maxUnpacked is how much of a compressed text is read.
const maxUnpacked = 16 << 10

// maxPacked are the compressed texts of a text that are read: each costs far more than its size.
const maxPacked = 4

// isPacked reports whether bytes begin as compressed ones do.
func isPacked(packed []byte) bool { return isGzip(packed) || len(packed) > 2 && packed[0] == 0x78 }

func isGzip(packed []byte) bool { return bytes.HasPrefix(packed, []byte{0x1f, 0x8b}) }

// unpack is what compressed bytes hold; nil: nothing that can be read.
func unpack(packed []byte) []byte {
	var from io.Reader
	var err error
	if isGzip(packed) {
		from, err = gzip.NewReader(bytes.NewReader(packed))
	} else {
		from, err = zlib.NewReader(bytes.NewReader(packed))
	}
	if err != nil {
		return nil
	}
	plain, _ := io.ReadAll(io.LimitReader(from, min(maxUnpacked, int64(8*len(packed)))))
	return plain
}

// hasDigits reports whether a text has so many digits.
func hasDigits(text string, least int) bool {
	for i := range len(text) {
		if c := text[i]; c >= '0' && c <= '9' {
			if least--; least == 0 {
				return true
			}
		}
	}
	return false
}
