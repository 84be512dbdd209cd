package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// steady makes answers the same in every run: what is made anew each time is replaced, in the order in which an answer
// has it.
type steady struct {
	known *strings.Replacer // what the story knows, as the document writes it
	ids   map[string]string
}

// steadied is an answer as the document shows it: without what differs between runs, and with two of each list. Nil: it
// is no JSON, or a schema, of which a part says nothing.
func steadied(t *testing.T, said []byte, values, shown map[string]string) json.RawMessage {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(said))
	decoder.UseNumber()
	var value any
	if len(said) == 0 || decoder.Decode(&value) != nil {
		return nil
	}
	if object, _ := value.(map[string]any); object["$schema"] != nil {
		return nil
	}
	s := steady{knownIn(values, shown), map[string]string{}}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s.value("", value)); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(out.Bytes())
}

// knownIn replaces each value that the story has by that of the document. Short ones are words.
func knownIn(values, shown map[string]string) *strings.Replacer {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if now, then := values[name], shown[name]; len(now) >= 16 && then != "" && now != then {
			pairs = append(pairs, now, then)
		}
	}
	return strings.NewReplacer(pairs...)
}

// mostShown is how many items of a list the document shows.
const mostShown = 2

func (s *steady) value(name string, of any) any {
	switch of := of.(type) {
	case map[string]any:
		made := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(of)) {
			made[s.text(key)] = s.value(key, of[key])
		}
		return made
	case []any:
		made := []any{}
		for _, item := range of[:min(len(of), mostShown)] {
			made = append(made, s.value(name, item))
		}
		return made
	case string:
		return s.text(of)
	case json.Number:
		return s.number(name, of)
	}
	return of
}

var (
	anAddress = regexp.MustCompile(`http://(127\.0\.0\.1|localhost):\d+`)
	aToken    = regexp.MustCompile(`eyJ[\w-]+\.[\w-]+\.[\w-]+`)
	anID      = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	aTime     = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)
	aDay      = regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`)
	aHash     = regexp.MustCompile(`\b[0-9a-f]{16,}\b`)
	aKey      = regexp.MustCompile(`\bak_[a-z]+_[A-Za-z0-9]+`)
	bytesText = regexp.MustCompile(`[A-Za-z0-9+/_-]{40,}={0,2}`)
)

// text replaces what differs between runs.
func (s *steady) text(of string) string {
	of = s.known.Replace(of)
	of = anAddress.ReplaceAllString(of, "https://writ.example.org")
	of = aToken.ReplaceAllString(of, "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIwMTk5ZDFjMiJ9.c2lnbmF0dXJl")
	of = anID.ReplaceAllStringFunc(of, s.id)
	of = aTime.ReplaceAllString(of, "2026-01-15T09:30:00Z")
	of = aDay.ReplaceAllStringFunc(of, func(string) string { return "2026-01-15" })
	of = aKey.ReplaceAllString(of, "ak_live_example")
	of = aHash.ReplaceAllStringFunc(of, func(hash string) string { return strings.Repeat("0", len(hash)) })
	return bytesText.ReplaceAllStringFunc(of, func(text string) string {
		if strings.Trim(text, "0") == "" || strings.Trim(text, "0123456789abcdef-") == "" {
			return text
		}
		return "c2lnbmF0dXJl"
	})
}

// id numbers the ids that the story does not know, and leaves those of the document.
func (s *steady) id(of string) string {
	if strings.HasPrefix(of, "0199d1c2-") {
		return of
	}
	if s.ids[of] == "" {
		s.ids[of] = fmt.Sprintf("0199d1c2-7a54-7c1e-9b7e-%012x", 0x100+len(s.ids))
	}
	return s.ids[of]
}

// took are the names of numbers that say how long something took.
var took = regexp.MustCompile(`(?i)(duration|latency|elapsed|_ms$|[a-z]Ms$|Us$|^p\d\d$|^medianSeconds$)`)

func (s *steady) number(name string, of json.Number) any {
	switch n, err := of.Float64(); {
	case err != nil:
		return of
	case took.MatchString(name) && n != 0:
		return 1
	case n > 1.6e12 && n < 4e12:
		return json.Number("1768469400000")
	case n > 1.6e9 && n < 4e9:
		return json.Number("1768469400")
	}
	return of
}
