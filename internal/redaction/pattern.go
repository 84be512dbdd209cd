package redaction

import (
	"regexp"
	"strings"
	"sync"
)

// rule removes one kind of secret that is known by its form.
type rule struct {
	// hints are lower-case texts, one of which every match contains. Searching for them first is far cheaper than a
	// pattern. None: always try.
	hints   []string
	pattern func() *regexp.Regexp
	// secret says whether a match, given as its groups, is a secret; nil: always.
	secret func(groups []string) bool
	// keep is the number of the group before the secret that stays, and keepEnd that of the group after it; 0: none.
	keep, keepEnd int
}

// lazily compiles a pattern when it is first needed: programs that start before and after every tool call of an agent
// rarely need one.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

// A secret in text, as a name and a value: password=..., "token": "...", --api-key ... . The name may have words in
// front, as in DB_PASSWORD.
const (
	namesInText = `(?:[a-z0-9]+[_.-])*(?:password|passwd|pwd|passphrase|secret|token|api[_-]?key|secret[_-]?key|private[_-]?key|` +
		`access[_-]?key|account[_-]?key|authorization|credentials?|client[_-]?secret|accesstoken|authtoken)`
	quote = `(?:\\*["'])?`
)

// nameHints are texts, one of which every such name contains.
var nameHints = []string{"pass", "pwd", "secret", "token", "key", "authorization", "credential"}

// rules are tried in this order: the whole before its parts.
var rules = []rule{
	{
		hints:   []string{"private key"},
		pattern: lazily(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)`),
	},
	{
		hints:   []string{"eyj"},
		pattern: lazily(`\beyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*)*`),
	},
	{
		hints: []string{
			"ak_", "sk_", "rk_", "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "aiza",
			"npm_", "hf_", "akia", "asia", "ya29.", "sg.", "dop_v1_", "shpat_",
		},
		pattern: lazily(`\b(?:` + strings.Join([]string{
			`ak_(?:live|test|claw)_[A-Za-z0-9]{8,}`,
			`(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{8,}`,
			`sk-[A-Za-z0-9_-]{16,}`,
			`gh[pousr]_[A-Za-z0-9]{16,}`,
			`github_pat_[A-Za-z0-9_]{16,}`,
			`glpat-[A-Za-z0-9_-]{16,}`,
			`xox[a-z]-[A-Za-z0-9-]{10,}`,
			`AIza[A-Za-z0-9_-]{30,}`,
			`npm_[A-Za-z0-9]{30,}`,
			`hf_[A-Za-z0-9]{30,}`,
			`(?:AKIA|ASIA)[A-Z0-9]{16}`,
			`ya29\.[A-Za-z0-9_-]{20,}`,
			`SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`,
			`dop_v1_[a-f0-9]{32,}`,
			`shpat_[a-fA-F0-9]{32,}`,
		}, "|") + `)`),
	},
	{
		hints:   []string{"://"},
		pattern: lazily(`([A-Za-z][A-Za-z0-9+.-]*://[^\s/?#:@"'<>]*:)([^\s/?#"'<>]+)(@)`),
		keep:    1, keepEnd: 3,
	},
	{
		hints:   []string{"bearer", "basic"},
		pattern: lazily(`(?i)(\b(?:bearer|basic)[ \t]+)([A-Za-z0-9._~+/=-]{12,})`),
		secret:  func(groups []string) bool { return isOpaque(groups[2]) },
		keep:    1,
	},
	// A quoted value ends with its quote, and may contain what ends others: spaces, commas, the other quote.
	namedRule(`(\b`+namesInText+quote+`[ \t]*(?:=|:)[ \t]*")((?:[^"\\]|\\.)+)(")`, 3),
	namedRule(`(\b`+namesInText+quote+`[ \t]*(?:=|:)[ \t]*')((?:[^'\\]|\\.)+)(')`, 3),
	namedRule(`(\b`+namesInText+quote+`[ \t]*(?:=|:)[ \t]*\\+")([^"\\]+)(\\+")`, 3), // in JSON inside JSON
	namedRule(`(--`+namesInText+`[ \t]+`+quote+`)([^\s"'\\,;&-][^\s"'\\,;&]*)`, 0),
	namedRule(`(\b`+namesInText+quote+`[ \t]*(?:=|:)[ \t]*(?:(?:bearer|basic|token)[ \t]+)?`+
		quote+`)([^\s"'\\,;&]+)`, 0),
}

// namedRule removes the value after a name. Its groups are the name, the value and perhaps what ends it.
func namedRule(pattern string, keepEnd int) rule {
	return rule{
		hints:   nameHints,
		pattern: lazily(`(?i)` + pattern),
		secret:  isRealValue,
		keep:    1,
		keepEnd: keepEnd,
	}
}

func (r *rule) mayMatch(lower string) bool {
	for _, hint := range r.hints {
		if strings.Contains(lower, hint) {
			return true
		}
	}
	return len(r.hints) == 0
}

// apply replaces every match that is a secret. After a match that is none, the search goes on behind the kept group,
// because a name may be where a value was expected.
func (r *rule) apply(text string) string {
	var out strings.Builder
	done, from := 0, 0 // written up to done, searched up to from
	for from <= len(text) {
		m := r.pattern().FindStringSubmatchIndex(text[from:])
		if m == nil {
			break
		}
		groups := make([]string, len(m)/2)
		for i := range groups {
			if m[2*i] >= 0 {
				groups[i] = text[from+m[2*i] : from+m[2*i+1]]
			}
		}
		if r.secret != nil && !r.secret(groups) {
			from += m[0] + len(groups[r.keep])
			continue
		}
		out.WriteString(text[done : from+m[0]])
		if r.keep > 0 {
			out.WriteString(groups[r.keep])
		}
		out.WriteString(Mark)
		if r.keepEnd > 0 {
			out.WriteString(groups[r.keepEnd])
		}
		from += max(m[1], m[0]+1)
		done = from
	}
	if done == 0 {
		return text
	}
	out.WriteString(text[min(done, len(text)):])
	return out.String()
}

// isOpaque tells a token from a word: it has a digit, a sign, a capital after the first letter, or is longer than
// words are.
func isOpaque(word string) bool {
	return len(word) >= 24 || strings.ContainsFunc(word[1:], func(r rune) bool { return r < 'a' || r > 'z' })
}

// placeholders stand for a value that is not given.
var placeholders = set(
	"true", "false", "null", "none", "nil", "undefined", "required", "optional", "string", "number", "boolean", "is",
	"in", "the", "a",
	"expired", "invalid", "missing", "valid", "revoked", "{", "[", "(", "***",
)

// maxNextName is the length up to which a value that ends like a name is one.
const maxNextName = 64

// isRealValue reports whether what follows a name is a value: not our mark, a variable to be filled in, a placeholder,
// or the next name.
func isRealValue(groups []string) bool {
	name, value := strings.ToLower(groups[1]), groups[2]
	if rest, ok := strings.CutPrefix(value, Mark); ok && strings.Trim(rest, ")]}.!?>") == "" {
		return false
	}
	if placeholders[strings.ToLower(strings.TrimRight(value, ".)]}"))] {
		return false
	}
	if isNextName(value) {
		return false
	}
	if strings.HasPrefix(value, "$") && strings.IndexFunc(value, isNotVariable) < 0 {
		return false
	}
	// A short value can only be a password; token: abc is prose.
	return len(value) >= 6 || strings.Contains(name, "pass") || strings.Contains(name, "pwd") ||
		strings.Contains(name, "=")
}

// isNextName reports whether a value is the next name with its sign. It must be short: the search goes on inside what
// is not a value, and a long text of nothing but names would be searched once for each of them. And it must be a name
// that means something: base64 ends with = as well.
func isNextName(value string) bool {
	name := strings.TrimRight(value, ":=")
	return len(value) <= maxNextName && name != value && nameSensitivity(name) != notSecret
}

func isNotVariable(r rune) bool {
	return (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '$' && r != '{' && r != '}'
}

// keyRules are the rules that recognize a key by itself, whatever is around it.
var keyRules = rules[:3]

// HoldsKey reports whether a text contains what can only be a key: a private key, a JWT, or one that its issuer marks.
// Such a text is refused as a name.
func HoldsKey(text string) bool {
	if !suspicious(text) {
		return false
	}
	lower := strings.ToLower(text)
	for i := range keyRules {
		if keyRules[i].mayMatch(lower) && keyRules[i].pattern().MatchString(text) {
			return true
		}
	}
	return false
}

// suspicious reports whether a text could contain a secret at all. Most do not, and need no pattern. Every secret we
// know is a dozen characters without a space, or follows a name and a sign, or is a card number. In quoted JSON, an
// escape may hide any of them.
func suspicious[T ~string | ~[]byte](text T) bool {
	run, digits := 0, 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c >= '0' && c <= '9':
			digits++
			run++
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == '.', c == '~', c == '+', c == '/', c == '-':
			run++
		case c == ':', c == '=', c == '\\':
			return true
		default:
			run = 0
		}
		if run >= 12 || digits >= minCardDigits || c == '-' && i > 0 && text[i-1] == '-' {
			return true
		}
	}
	return false
}
