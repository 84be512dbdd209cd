// Package credential reads the credentials that a request carries. It does not check whether they are valid.
//
// Everything here comes from the caller. Published clients send an API key as Authorization: Bearer, as x-api-key, in
// both, or doubled as "KEY, KEY" in one header; a repeated header means the same as a comma. If credentials differ,
// the request is refused, so that no two parts of a deployment can take it for different callers. One published client
// sends the JWT of its plan as Bearer beside its key: whether both are one caller's is for the reader to find out.
package credential

import (
	"strings"

	"writ/internal/fault"
)

const (
	// keyPrefix begins every API key.
	keyPrefix = "ak_"
	// maxKeyHeader limits a header that holds a key, in bytes. The longest that a known client sends is two keys and
	// their schemes, 160 bytes.
	maxKeyHeader = 512
	// maxBearer limits any other bearer token.
	maxBearer = 8192
)

// Presented is what a request carries. If both fields are set, it must be refused with Disagree unless both name one
// caller.
type Presented struct {
	APIKey string // begins with ak_, contains neither comma nor white space
	Bearer string // a token that is not an API key
}

// FromHeaders reads the values of the Authorization and x-api-key headers.
func FromHeaders(authorization, xAPIKey []string) (Presented, error) {
	bearer, err := fromAuthorization(authorization)
	if err != nil {
		return Presented{}, err
	}
	key, err := fromXAPIKey(xAPIKey)
	if err != nil {
		return Presented{}, err
	}
	isKey := strings.HasPrefix(bearer, keyPrefix)
	switch {
	case key != "" && isKey && bearer != key:
		return Presented{}, Disagree()
	case key != "" && bearer != "" && !isKey:
		return Presented{APIKey: key, Bearer: bearer}, nil
	case key != "" || isKey:
		return Presented{APIKey: max(key, bearer)}, nil // one is empty, or both are the same
	default:
		return Presented{Bearer: bearer}, nil
	}
}

// fromAuthorization returns the one token of the header, or nothing without a Bearer.
func fromAuthorization(lines []string) (string, error) {
	token, size := "", 0
	for _, line := range lines {
		size += len(line)
		for part := range strings.SplitSeq(line, ",") {
			next := bearerToken(part)
			if token != "" && next != token {
				return "", Disagree()
			}
			token = next
		}
	}
	switch {
	case strings.HasPrefix(token, keyPrefix):
		return token, checkKey(token, size)
	case size > maxBearer || strings.ContainsAny(token, " \t\r\n\v\f"):
		return "", notValid()
	}
	return token, nil
}

// bearerToken returns what follows the scheme Bearer, in upper or lower case.
func bearerToken(part string) string {
	scheme, token, _ := strings.Cut(trim(part), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return trim(token)
}

// fromXAPIKey returns the key in x-api-key, or nothing if the header is absent or empty: clients without a key send it
// empty.
func fromXAPIKey(lines []string) (string, error) {
	key, size, first := "", 0, true
	for _, line := range lines {
		size += len(line)
		for part := range strings.SplitSeq(line, ",") {
			part = trim(part)
			if !first && part != key {
				return "", Disagree()
			}
			key, first = part, false
		}
	}
	if key == "" {
		return "", nil
	}
	return key, checkKey(key, size)
}

// checkKey refuses what cannot be a key before anything looks it up.
func checkKey(key string, headerSize int) error {
	if headerSize > maxKeyHeader || !strings.HasPrefix(key, keyPrefix) || strings.ContainsAny(key, " \t\r\n\v\f") {
		return notValid()
	}
	return nil
}

// trim removes the white space HTTP allows around a value.
func trim(text string) string { return strings.Trim(text, " \t") }

// Disagree refuses credentials that do not name one caller.
func Disagree() error {
	return fault.New(fault.Unauthenticated, "the request carries two different credentials")
}

func notValid() error {
	return fault.New(fault.Unauthenticated, "the credentials cannot be read: an API key begins with ak_ and has no spaces")
}
