package manifest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"writ/internal/manifest"
)

// pieces are values that stand somewhere in a valid or an invalid manifest.
var pieces = []any{
	nil, true, false, 0, 1, -1, 1.5, 30.0, 2147483647, 2147483648.0, "", "v1", "v2", "sandbox", "production", "none",
	"bearer", "api_key", "a", "a b", "a.b", "a.*", "*.b", "a.b.c", "$VAR", "${VAR}", "x$", "https://a.example.com",
	"https://a.example.com/$PATH", "ftp://a.example.com", "http://u@a.example.com", "X-API-Key", "X Y",
	strings.Repeat("a", 81), strings.Repeat("a", 201), strings.Repeat("a.b", 100), "a\nb", []any{}, map[string]any{},
	[]any{"a.b"}, []any{"a.b", "$VAR"}, []any{nil}, map[string]any{"type": "none"},
	map[string]any{"type": "bearer", "token": "$T"},
	map[string]any{"type": "api_key", "api_key": "k", "header_name": "X"},
	map[string]any{"type": "bearer", "token": "t", "api_key": "k"}, map[string]any{"token": "t"},
}

var memberNames = []string{
	"version", "identity", "environment", "proxy", "mcp_servers", "policy", "intent", "api_key", "user_id", "agent_id",
	"url", "timeout", "max_retries", "id", "description", "auth", "type", "token", "header_name", "allow", "deny",
	"ttl_seconds", "require_csrg", "other", "Version",
}

func wholeManifest() map[string]any {
	return map[string]any{
		"version":     "v1",
		"identity":    map[string]any{"api_key": "$KEY", "user_id": "w", "agent_id": "a"},
		"environment": "production",
		"proxy":       map[string]any{"url": "https://p.example.com", "timeout": 5, "max_retries": 0},
		"mcp_servers": []any{map[string]any{
			"id": "s", "url": "https://s.example.com", "description": "d",
			"auth": map[string]any{"type": "api_key", "api_key": "k", "header_name": "X-Key"},
		}},
		"policy": map[string]any{"allow": []any{"s.read"}, "deny": []any{"s.drop*"}},
		"intent": map[string]any{"ttl_seconds": 60, "require_csrg": false},
	}
}

// change replaces, adds or removes one thing somewhere below a value.
func change(random *rand.Rand, value any) any {
	switch value := value.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(value))
		switch n := random.IntN(10); {
		case n == 0 || len(names) == 0:
			value[memberNames[random.IntN(len(memberNames))]] = piece(random)
		case n == 1:
			delete(value, names[random.IntN(len(names))])
		default:
			name := names[random.IntN(len(names))]
			value[name] = change(random, value[name])
		}
		return value
	case []any:
		if len(value) == 0 || random.IntN(3) == 0 {
			return append(value, piece(random))
		}
		i := random.IntN(len(value))
		value[i] = change(random, value[i])
		return value
	}
	return piece(random)
}

// piece is a copy of one of the pieces, because it may be changed too.
func piece(random *rand.Rand) any {
	switch value := pieces[random.IntN(len(pieces))].(type) {
	case map[string]any:
		return maps.Clone(value)
	case []any:
		return slices.Clone(value)
	default:
		return value
	}
}

// The schema and the reader take the same documents, but for ids that stand twice and
// ports that are no number.
func TestSchemaAndReaderAgree(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	random := rand.New(rand.NewPCG(1, 2))
	taken, refused := 0, 0
	for range 20_000 {
		var copied any = wholeManifest()
		for range 1 + random.IntN(2) {
			copied = change(random, copied)
		}
		text, err := json.Marshal(copied)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = manifest.Read(text, manifest.JSON, nil)
		if invalid, ok := errors.AsType[*manifest.Invalid](err); ok && beyondSchema(invalid) {
			continue
		}
		said := schema.Validate(instance(t, text, manifest.JSON))
		if (err == nil) != (said == nil) {
			t.Fatalf("%s\nthe reader says %v\nthe schema says %v", text, err, said)
		}
		if err == nil {
			taken++
		} else {
			refused++
		}
	}
	if taken < 1_000 || refused < 1_000 {
		t.Errorf("%d taken and %d refused: the test shows nothing", taken, refused)
	}
}

func beyondSchema(invalid *manifest.Invalid) bool {
	for _, p := range invalid.Problems {
		if p.Message != "is the id of an earlier server" {
			return false
		}
	}
	return true
}

func FuzzRead(f *testing.F) {
	text, err := json.Marshal(wholeManifest())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, true)
	f.Add([]byte("version: v1\nidentity: {api_key: $KEY, user_id: w, agent_id: a}\n"), false)
	f.Fuzz(func(t *testing.T, text []byte, asJSON bool) {
		m, warnings, err := manifest.Read(text, manifest.Format(asJSON), variables)
		if (m == nil) == (err == nil) {
			t.Errorf("manifest %v with error %v", m, err)
		}
		if shown := fmt.Sprintf("%+v %v", m, warnings); strings.Contains(shown, "ak_test_0123456789abcdef") &&
			!strings.Contains(string(text), "KEY") {
			t.Errorf("a secret is shown: %s", shown)
		}
	})
}
