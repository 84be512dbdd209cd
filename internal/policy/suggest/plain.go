package suggest

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"writ/internal/redaction"
)

const (
	maxLiteral = 200 // bytes of one text
	maxNesting = 3   // lists and objects within each other
	maxItems   = 20  // of one list or object
	// manyDigits is how many digits make a number that may identify a person, an account
	// or a telephone.
	manyDigits = 7
	// opaqueLength is how many letters and digits make a word that may be a key.
	opaqueLength = 20
)

// personal finds text about people. The patterns are wide on purpose: what they catch
// by mistake is left to a person, what they miss is published.
var personal = []*regexp.Regexp{
	regexp.MustCompile(`(?i)[^\s@](?:@|%40)[^\s@]`),                           // mail addresses and accounts
	regexp.MustCompile(`\d(?:[ ().\-/]*\d){6,}`),                              // telephones, accounts, dates of birth
	regexp.MustCompile(`(?i)(?:^|[\\/])(?:home|users)[\\/]+[^\\/\s]`),         // home folders
	regexp.MustCompile(`~[A-Za-z]`),                                           // home folders
	regexp.MustCompile(`\p{Lu}[\p{Ll}'’-]+\.? +(?:\p{Lu}\.? +)*\p{Lu}\p{Ll}`), // names
}

var opaque = regexp.MustCompile(`[A-Za-z0-9+/=_-]{` + strconv.Itoa(opaqueLength) + `,}`)

// personalWords are the words in names of arguments that are about a person, or that
// hold what a person wrote.
var personalWords = wordSet(`
		email mail phone telephone tel mobile cell fax address street city zip zipcode postcode postal country birth birthday
		birthdate dob age gender ssn passport tax vat iban bic account card holder person people patient employee customer client
		contact recipient recipients to cc bcc from sender author assignee owner member user username login fullname firstname lastname
		surname forename nickname payee beneficiary guest attendee attendees
		subject body message messages note notes comment comments content contents text prompt description title memo reason
		password secret token key credential credentials auth authorization cookie session`)

func wordSet(text string) map[string]bool {
	words := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		words[word] = true
	}
	return words
}

var wordBreak = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+|[0-9]+`)

func personalName(name string) bool {
	return slices.ContainsFunc(wordBreak.FindAllString(name, -1), func(word string) bool {
		return personalWords[strings.ToLower(word)]
	})
}

// plainText reports whether a text may be written into a policy.
func plainText(text string) bool {
	if !publishable(text) ||
		slices.ContainsFunc(personal, func(pattern *regexp.Regexp) bool { return pattern.MatchString(text) }) {
		return false
	}
	return !slices.ContainsFunc(opaque.FindAllString(text, -1), isOpaque)
}

// publishable reports whether a text is short, shows all its characters, and has no
// recognizable secret.
func publishable(text string) bool {
	return len(text) <= maxLiteral && utf8.ValidString(text) && !strings.Contains(text, redaction.Mark) &&
		redaction.Text(text) == text &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) && r != '\n' && r != '\t' })
}

// isOpaque distinguishes a key or hash from a path or a long name: it mixes letters and
// digits within the parts between its separators.
func isOpaque(run string) bool {
	mixed := 0
	for part := range strings.FieldsFuncSeq(run, func(r rune) bool { return r == '/' || r == '_' || r == '-' }) {
		if strings.ContainsAny(part, "0123456789") && strings.ContainsFunc(part, unicode.IsLetter) {
			mixed += len(part)
		}
	}
	return mixed >= 8 || !strings.ContainsAny(run, "/_-") && len(run) >= 2*opaqueLength
}

// plainID reports whether an agent's id may be written into a policy. Ids are often
// long and full of digits, but must not be a key or an address.
func plainID(id string) bool {
	return id != "" && publishable(id) && !strings.ContainsAny(id, "\n\t") && !personal[0].MatchString(id)
}

// literal writes a value as a literal of a condition. It is not ok if the value is not
// plain. The name applies to everything below it.
func literal(name string, value any, depth int) (text string, ok bool) {
	if personalName(name) || depth > maxNesting {
		return "", false
	}
	switch value := value.(type) {
	case nil:
		return "null", true
	case bool:
		return strconv.FormatBool(value), true
	case string:
		return quoted(value), plainText(value)
	case int64:
		return strconv.FormatInt(value, 10), len(strings.TrimPrefix(strconv.FormatInt(value, 10), "-")) < manyDigits
	case float64:
		return number(value)
	case []any:
		return list(name, value, depth)
	case map[string]any:
		return object(value, depth)
	}
	return "", false
}

func number(value float64) (string, bool) {
	if math.IsNaN(value) || math.Abs(value) >= math.Pow10(manyDigits-1) {
		return "", false
	}
	text := strconv.FormatFloat(value, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	whole, fraction, _ := strings.Cut(text, ".")
	return text, len(whole)+len(fraction) < 2*manyDigits
}

func list(name string, items []any, depth int) (string, bool) {
	if len(items) > maxItems {
		return "", false
	}
	parts := make([]string, len(items))
	for i, item := range items {
		text, ok := literal(name, item, depth+1)
		if !ok {
			return "", false
		}
		parts[i] = text
	}
	return "[" + strings.Join(parts, ", ") + "]", true
}

func object(members map[string]any, depth int) (string, bool) {
	if len(members) > maxItems {
		return "", false
	}
	parts := make([]string, 0, len(members))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		text, ok := literal(name, members[name], depth+1)
		if !ok || !plainText(name) {
			return "", false
		}
		parts = append(parts, quoted(name)+": "+text)
	}
	return "{" + strings.Join(parts, ", ") + "}", true
}

// quoted writes a text as a literal of a condition, with all characters visible.
func quoted(text string) string { return strconv.QuoteToASCII(text) }

var identifier = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// reserved are the words that cannot be the name of a field.
var reserved = wordSet(`as break const continue else false for function if import in let loop package namespace null
	return true var void while`)

// argument writes an argument as a condition does.
func argument(name string) string {
	if identifier.MatchString(name) && !reserved[name] {
		return "args." + name
	}
	return fmt.Sprintf("args[%s]", quoted(name))
}
