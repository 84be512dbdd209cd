package redaction

import "strings"

// sensitivity is what a name says about the value under it.
type sensitivity int

const (
	notSecret  sensitivity = iota // says nothing
	textOnly                      // a string is a secret, a number is a count: max_tokens, tokens
	secretName                    // every string and number is a secret
)

// secretWords make a name secret wherever they are in it.
var secretWords = set(
	"password", "passwords", "passwd", "pwd", "passphrase", "passcode",
	"secret", "secrets", "token", "credential", "credentials", "creds",
	"authorization", "cookie", "cookies", "otp", "totp", "cvv", "cvc", "cvv2", "jwt",
)

// secretPairs are secret as two adjacent words, or written as one.
var secretPairs = set(
	"api key", "api keys", "private key", "access key", "secret key", "signing key", "encryption key", "master key",
	"ssh key", "service key", "account key", "auth key", "session key", "connection string", "card number",
	"recovery code", "recovery codes",
)

// secretAlone are secret only as the whole name.
var secretAlone = set("auth", "pass", "pin", "bearer", "apikey", "ssn")

// secretEndings end one-word names that are secret: accesstoken, dbpassword. No ordinary word ends like this.
var secretEndings = []string{
	"password", "passwd", "passphrase", "token", "secret", "apikey", "secretkey", "privatekey", "accesskey",
}

// aboutSecrets end names that describe a secret and do not contain it: token_type, password_length.
var aboutSecrets = set(
	"count", "counts", "limit", "type", "usage", "budget", "length", "size", "expiry", "expires", "ttl",
	"required", "enabled", "policy", "url", "uri", "endpoint", "at", "in",
)

// countWords are names of numbers that would otherwise read as secrets.
var countWords = set("tokens")

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, word := range words {
		m[word] = true
	}
	return m
}

// maxName limits the work on one name. A longer one is data, not a name, and is judged by its beginning.
const maxName = 200

// nameSensitivity judges a name by its words.
func nameSensitivity(name string) sensitivity {
	if len(name) > maxName {
		name = name[:maxName]
	}
	if !holdsStem(name) {
		return notSecret
	}
	words := splitWords(name)
	if len(words) == 0 {
		return notSecret
	}
	last := words[len(words)-1]
	switch {
	case len(words) == 1 && secretAlone[last]:
		return secretName
	case len(words) > 1 && aboutSecrets[last]:
		return notSecret
	}
	found := notSecret
	for i, word := range words {
		switch {
		case secretWords[word], endsSecret(word), i > 0 && secretPairs[words[i-1]+" "+word]:
			return secretName
		case countWords[word]:
			found = textOnly
		}
	}
	return found
}

// stems are parts of the words above. Most names contain none of them and need no further check.
var stems = [...]string{
	"pass", "pwd", "secret", "token", "cred", "auth", "cookie", "otp", "cv", "jwt", "key", "pin", "bearer", "ssn",
	"string", "number", "code",
}

// holdsStem reports whether the name contains a stem, in upper or lower case.
func holdsStem[T ~string | ~[]byte](name T) bool {
	for i := range len(name) {
		for _, stem := range stems {
			if name[i]|0x20 == stem[0] && len(name)-i >= len(stem) &&
				strings.EqualFold(string(name[i:i+len(stem)]), stem) {
				return true
			}
		}
	}
	return false
}

func endsSecret(word string) bool {
	for _, ending := range secretEndings {
		if strings.HasSuffix(word, ending) {
			return true
		}
	}
	return false
}

// splitWords cuts a name into lower-case words, at every character that is neither letter nor digit and where capitals
// begin: apiKey, API_KEY, X-Api-Key.
func splitWords(name string) []string {
	var words []string
	var word []byte
	flush := func() {
		if len(word) > 0 {
			words = append(words, string(word))
			word = word[:0]
		}
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c >= 'A' && c <= 'Z':
			if beginsWord(name, i) {
				flush()
			}
			word = append(word, c|0x20)
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= 0x80:
			word = append(word, c)
		default:
			flush()
		}
	}
	flush()
	return words
}

// beginsWord reports whether the capital at i begins a word: after a small letter or digit (apiKey), or before a small
// letter (APIKey).
func beginsWord(name string, i int) bool {
	if i == 0 {
		return false
	}
	before := name[i-1]
	if before >= 'a' && before <= 'z' || before >= '0' && before <= '9' {
		return true
	}
	next := i + 1
	return next < len(name) && name[next] >= 'a' && name[next] <= 'z'
}
