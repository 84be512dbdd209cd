package redaction_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"writ/internal/redaction"
)

// Secrets for tests are put together here, so that no scanner of repositories
// takes this file for a leak.
var (
	apiKey   = "ak_" + "live_" + strings.Repeat("0123456789abcdef", 4)
	awsKey   = "AKIA" + "IOSFODNN7EXAMPLE"
	github   = "gh" + "p_" + strings.Repeat("aB3d", 9)
	pat      = "github" + "_pat_" + strings.Repeat("A1b2", 10)
	openAI   = "sk" + "-proj-" + strings.Repeat("x9Yz", 8)
	jwtToken = "eyJ" + "hbGciOiJFZERTQSJ9.eyJzdWIiOiIxIn0." + strings.Repeat("s_G-", 8)
	pem      = "-----BEGIN " + "PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA\n-----END PRIVATE KEY-----"
	card     = "4111 1111 " + "1111 1111"
)

func TestText(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, give, want string }{
		{"bearer", "curl -H 'Authorization: Bearer abc123def456ghi' x", "curl -H 'Authorization: Bearer [redacted]' x"},
		{"bearer alone", "Bearer abc123def456ghi", "Bearer [redacted]"},
		{"basic", "Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: Basic [redacted]"},
		{"AWS id", "use " + awsKey + " now", "use [redacted] now"},
		{"GitHub token", "git push https://" + github + "@github.com/x", "git push https://[redacted]@github.com/x"},
		{"GitHub fine-grained", pat, "[redacted]"},
		{"OpenAI", "export K=" + openAI, "export K=[redacted]"},
		{"one of our keys", "x-api-key: " + apiKey, "x-api-key: [redacted]"},
		{"JWT", "t " + jwtToken + " u", "t [redacted] u"},
		{"JWT and a full stop", jwtToken + ", or", "[redacted], or"},
		{"private key", "a\n" + pem + "\nb", "a\n[redacted]\nb"},
		{"private key without an end", "a " + pem[:50], "a [redacted]"},
		{"card in groups", "pay with " + card + ".", "pay with [redacted]."},
		{"card in one", "4111111111111111", "[redacted]"},
		{"card with hyphens", "5500-0000-0000-0004", "[redacted]"},
		{"Amex", "3782 822463 10005", "[redacted]"},
		{"basic auth in a URL", "psql postgres://ada:s3cr3t@db/x", "psql postgres://ada:[redacted]@db/x"},
		{"password with an at in a URL", "https://a:p@ss@h/", "https://a:[redacted]@h/"},
		{"assignment", "DB_PASSWORD=hunter2 make", "DB_PASSWORD=[redacted] make"},
		{"assignment, quoted", `PASSWORD="hunter2" make`, `PASSWORD="[redacted]" make`},
		{"colon", "token: abcdef123456", "token: [redacted]"},
		{"flag", "login --password hunter2 --user ada", "login --password [redacted] --user ada"},
		{"flag with equals", "--api-key=abc", "--api-key=[redacted]"},
		{"flag before a flag", "--token --password hunter2", "--token --password [redacted]"},
		{"a name where a value was looked for", "password: token: abcdef123", "password: token: [redacted]"},
		{"JSON in text", `{"password":"hunter2","n":1}`, `{"password":"[redacted]","n":1}`},
		{"escaped JSON in text", `"{\"api_key\":\"abcdef\"}"`, `"{\"api_key\":\"[redacted]\"}"`},
		{"quoted with spaces", `password="correct horse, battery" make`, `password="[redacted]" make`},
		{"quoted with an escaped quote", `password: "a\"b c", n: 1`, `password: "[redacted]", n: 1`},
		{"in single quotes", `--api-key='a b;c' x`, `--api-key='[redacted]' x`},
		{
			"JSON in text, with spaces", `{"password": "correct horse battery", "n": 1}`,
			`{"password": "[redacted]", "n": 1}`,
		},
		{"escaped JSON in text, with spaces", `"{\"secret\":\"correct horse\"}"`, `"{\"secret\":\"[redacted]\"}"`},
		{"base64 that ends with its sign", "DB_PASSWORD=c2VjcmV0MTIzNDU2Nzg= make", "DB_PASSWORD=[redacted] make"},
		{"query", "https://x/?access_token=abcdef&y=1", "https://x/?access_token=[redacted]&y=1"},
		{"mark and more", "password=[redacted]hunter2", "password=[redacted]"},
		{"several", "token=abcdefgh and password=x", "token=[redacted] and password=[redacted]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := redaction.Text(tt.give)
			if got != tt.want {
				t.Errorf("Text = %q, want %q", got, tt.want)
			}
			if again := redaction.Text(got); again != got {
				t.Errorf("redacted again: %q, want %q", again, got)
			}
		})
	}
}

func TestTextKeeps(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "ls -la", "discard the tokenizer of the secretary",
		"basic understanding of bearer instruments",
		"0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
		"12345678-1234-4234-8234-123456789012",
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"commit 9fee3f6a1b2c3d4e5f60718293a4b5c6d7e8f901",
		"at 1700000000123 and 1700000000123456",
		"2024-01-15 2024-01-16", "v1.2.3", "4111111111111112 is no card",
		"max_tokens=4096", "tokenizer: cl100k_base", "secretary: John Smith",
		"password: required", "token is missing", "export TOKEN=$TOKEN", "PASSWORD=${DB_PASSWORD}",
		"https://example.org:8080/path?q=1", "git@github.com:org/repo.git", "/usr/local/share/keyring/a.gpg",
		"-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----",
		"monkey=banana", "the key: a story", "sk-learn", "risk-management-framework-overview",
	} {
		if got := redaction.Text(text); got != text {
			t.Errorf("Text(%q) = %q, want it kept", text, got)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, give, want string }{
		{"by name", `{"b":1,"password":"hunter2","a":"x"}`, `{"b":1,"password":"[redacted]","a":"x"}`},
		{"nested", `{"x":[{"y":{"Api-Key":"k"}}]}`, `{"x":[{"y":{"Api-Key":"[redacted]"}}]}`},
		{
			"all under a name", `{"secrets":{"a":"1","n":[2,{"z":"3"}]},"k":"4"}`,
			`{"secrets":{"a":"[redacted]","n":["[redacted]",{"z":"[redacted]"}]},"k":"4"}`,
		},
		{
			"camel case", `{"accessToken":"x","APIKey":"y","clientSecret":"z"}`,
			`{"accessToken":"[redacted]","APIKey":"[redacted]","clientSecret":"[redacted]"}`,
		},
		{
			"one word", `{"apikey":"x","dbpassword":"y","privatekey":"z"}`,
			`{"apikey":"[redacted]","dbpassword":"[redacted]","privatekey":"[redacted]"}`,
		},
		{
			"two words", `{"connectionString":"x","recovery_code":"y","Card Number":"z","AWS_SECRET_ACCESS_KEY":"w"}`,
			`{"connectionString":"[redacted]","recovery_code":"[redacted]","Card Number":"[redacted]","AWS_SECRET_ACCESS_KEY":"[redacted]"}`,
		},
		{
			"headers", `{"Authorization":"x","Cookie":"y","Set-Cookie":"z","X-Api-Key":"w"}`,
			`{"Authorization":"[redacted]","Cookie":"[redacted]","Set-Cookie":"[redacted]","X-Api-Key":"[redacted]"}`,
		},
		{"number", `{"pin":1234,"otp":5678,"n":9}`, `{"pin":"[redacted]","otp":"[redacted]","n":9}`},
		{
			"true, false and null stay", `{"password":null,"token":true,"secret":false}`,
			`{"password":null,"token":true,"secret":false}`,
		},
		{"nothing to hide", `{"password":"","secret":{}}`, `{"password":"","secret":{}}`},
		{
			"counts of tokens", `{"tokens":12,"max_tokens":4,"inputTokens":9}`,
			`{"tokens":12,"max_tokens":4,"inputTokens":9}`,
		},
		{"list of tokens", `{"tokens":["abc"]}`, `{"tokens":["[redacted]"]}`},
		{
			"about a secret", `{"token_type":"Bearer","passwordLength":12,"tokenCount":3}`,
			`{"token_type":"Bearer","passwordLength":12,"tokenCount":3}`,
		},
		{"names that only look so",
			`{"discard":"a","tokenizer":"b","secretary":"c","author":"d","passenger":"e","keyboard":"f"}`,
			`{"discard":"a","tokenizer":"b","secretary":"c","author":"d","passenger":"e","keyboard":"f"}`},
		{"by look", `{"command":"curl -H 'X: ` + apiKey + `'"}`, `{"command":"curl -H 'X: [redacted]'"}`},
		{"behind an escape", `{"command":"PASSWORD\u003dhunter2"}`, `{"command":"PASSWORD=[redacted]"}`},
		{"secret as a key", `{"` + github + `":1,"` + pat + `":2}`, `{"[redacted]":1,"[redacted] 2":2}`},
		{"card as a number", `[4111111111111111,4111111111111112]`, `["[redacted]",4111111111111112]`},
		{"numbers as written", `[1.0,1e2,-0,12345678901234567890]`, `[1.0,1e2,-0,12345678901234567890]`},
		{"named by a neighbor", `{"env":[{"name":"DB_PASSWORD","value":"hunter2"},{"name":"HOME","value":"/root"}]}`,
			`{"env":[{"name":"DB_PASSWORD","value":"[redacted]"},{"name":"HOME","value":"/root"}]}`},
		{
			"named by a neighbor, all of it", `{"Key":"api_key","Value":{"a":["x",1]},"b":"y"}`,
			`{"Key":"api_key","Value":{"a":["[redacted]","[redacted]"]},"b":"y"}`,
		},
		{
			"a name beside nothing", `{"name":"password","description":"of the user","value":true}`,
			`{"name":"password","description":"of the user","value":true}`,
		},
		{"a neighbor in another object", `[{"name":"token"},{"value":"x"}]`, `[{"name":"token"},{"value":"x"}]`},
		{
			"after a flag", `["mysql","--password","hunter2","-u","ada"]`,
			`["mysql","--password","[redacted]","-u","ada"]`,
		},
		{"a flag after a flag", `["--token","--verbose","x"]`, `["--token","--verbose","x"]`},
		{"a flag with its value", `["--password=hunter2","x"]`, `["--password=[redacted]","x"]`},
		{
			"a flag that counts", `["--max-tokens","100","--token-type","Bearer"]`,
			`["--max-tokens","100","--token-type","Bearer"]`,
		},
		{"a flag before a number", `["--pin",1234,5]`, `["--pin","[redacted]",5]`},
		{"scalar", `"password=hunter2"`, `"password=[redacted]"`},
		{"space goes", " { \"a\" : [ ] } ", `{"a":[]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := redaction.JSON([]byte(tt.give))
			if err != nil || string(got) != tt.want {
				t.Errorf("JSON = %s, %v; want %s", got, err, tt.want)
			}
			if again, err := redaction.JSON(got); err != nil || string(again) != string(got) {
				t.Errorf("redacted again: %s, %v", again, err)
			}
		})
	}
}

func TestHoldsKey(t *testing.T) {
	t.Parallel()
	for _, text := range []string{apiKey, awsKey, "a " + github, jwtToken, pem, "x/" + openAI} {
		if !redaction.HoldsKey(text) {
			t.Errorf("HoldsKey(%q) is false", text)
		}
	}
	for _, text := range []string{
		"", "send_money", "vault:secret:create", "token: abcdef123456", "password=hunter2", "mcp__github__create_token",
		"ada@example.org",
		"0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", "https://a:b@c/", card,
		"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	} {
		if redaction.HoldsKey(text) {
			t.Errorf("HoldsKey(%q) is true", text)
		}
	}
}

func TestJSONRefuses(t *testing.T) {
	t.Parallel()
	for name, give := range map[string]string{
		"nothing":        "",
		"cut":            `{"password":"hunt`,
		"duplicate keys": `{"a":1,"hunter2":"hunter2","hunter2":2}`,
		"bad UTF-8":      "\"\xff\"",
		"lone surrogate": `"\ud800"`,
		"more after it":  `{} {}`,
		"too deep":       strings.Repeat("[", 257) + strings.Repeat("]", 257),
		"far too deep":   strings.Repeat("[", 1_000_000),
	} {
		got, err := redaction.JSON([]byte(give))
		if err == nil {
			t.Errorf("%s: taken as %s", name, got)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error shows the text: %v", name, err)
		}
	}
}

// TestHostileTexts has texts made to cost: of nothing but names, of nearly
// secrets, of thousands of secret keys. Without bounds they take minutes, and
// the test is ended.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	const size = 256 << 10
	for name, part := range map[string]string{
		"names": "token:", "names with a value": "password=token=", "flags": "--token --password ",
		"names and spaces": "token: ",
		"words":            "a_b-c.", "keys": "key-", "begins": "-----BEGIN PRIVATE KEY", "JWT": "eyJ.",
		"JWT parts": "eyJaaaaaaa.aaaaaaa.",
		"URLs":      "a://b:", "digits": "4", "cards": "4111-", "marks": "token=[redacted]", "variables": "token=$A",
		"bearers": "bearer ", "quotes": `token\"`,
	} {
		redaction.Text(strings.Repeat(part, size/len(part)))
		text, err := json.Marshal(strings.Repeat(part, size/len(part)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := redaction.JSON(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	keys := map[string]int{}
	for i := range 5000 {
		keys[fmt.Sprintf("%s%05d", github, i)] = i
	}
	text, err := json.Marshal(keys)
	if err != nil {
		t.Fatal(err)
	}
	got, err := redaction.JSON(text)
	if err != nil || strings.Contains(string(got), github) {
		t.Errorf("thousands of secret keys: %v", err)
	}
	var back map[string]int
	if err := json.Unmarshal(got, &back); err != nil || len(back) != len(keys) {
		t.Errorf("%d keys are left of %d (%v)", len(back), len(keys), err)
	}
}

// TestPlantedSecretsNeverShow plants secrets under secret names and by their
// look in random JSON, and compares the shape.
func TestPlantedSecretsNeverShow(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		given := tree(t, 4)
		text, err := json.Marshal(given)
		if err != nil {
			t.Fatal(err)
		}
		got, err := redaction.JSON(text)
		if err != nil {
			t.Fatalf("JSON(%s): %v", text, err)
		}
		for _, secret := range planted {
			if strings.Contains(string(got), secret) {
				t.Fatalf("%s shows in %s", secret, got)
			}
		}
		var result any
		if err := json.Unmarshal(got, &result); err != nil {
			t.Fatalf("%s is not JSON: %v", got, err)
		}
		if diff := cmp.Diff(shape(given), shape(result)); diff != "" {
			t.Fatalf("another shape (-given +redacted):\n%s", diff)
		}
		if again, err := redaction.JSON(got); err != nil || string(again) != string(got) {
			t.Fatalf("redacted again: %s, was %s (%v)", again, got, err)
		}
	})
}

var planted = []string{apiKey, awsKey, github, pat, openAI, jwtToken, "hunter2hunter2"}

func tree(t *rapid.T, depth int) any {
	switch n := rapid.IntRange(0, 5).Draw(t, "kind"); {
	case n == 0 && depth > 0:
		m := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			m[rapid.StringMatching(`[a-z]{1,6}`).Draw(t, "name")] = tree(t, depth-1)
		}
		m[rapid.SampledFrom([]string{"password", "apiKey", "X-Auth-Token", "client_secret"}).Draw(t,
			"secret name")] = "hunter2hunter2"
		return m
	case n == 1 && depth > 0:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			list = append(list, tree(t, depth-1))
		}
		return list
	case n == 2:
		return float64(rapid.IntRange(-9, 99).Draw(t, "number"))
	case n == 3:
		return nil
	case n == 4:
		before := rapid.SampledFrom([]string{"", "x ", "curl ", "\n", "(", "a=", "é "}).Draw(t, "before")
		after := rapid.SampledFrom([]string{"", " y", "\n", ")", ", z", " é"}).Draw(t, "after")
		return before + rapid.SampledFrom(planted[:6]).Draw(t, "secret") + after
	default:
		return rapid.StringMatching(`[a-z ]{0,8}`).Draw(t, "text")
	}
}

// shape is a value without its scalars.
func shape(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for key, value := range v {
			m[key] = shape(value)
		}
		return m
	case []any:
		list := []any{}
		for _, value := range v {
			list = append(list, shape(value))
		}
		return list
	default:
		return nil
	}
}

func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{"password":"x"}`, `[1,"Bearer abc123def456ghi"]`, `"a=b: --token x"`, `{"a":{"b":[` + "null" + `]}}`,
		`{"` + github + `":"` + jwtToken + `"}`,
		`"password=[redacted]x token: [redacted]"`, `"` + card + `"`, `"https://a:b@c"`, "\"\xff\"", `{"a":1,"a":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := redaction.JSON(raw)
		if err != nil {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("JSON(%q) = %q, which is none", raw, got)
		}
		again, err := redaction.JSON(got)
		if err != nil || string(again) != string(got) {
			t.Fatalf("redacted again: %q (%v), was %q of %q", again, err, got, raw)
		}
		var before, after any
		if json.Unmarshal(raw, &before) != nil || json.Unmarshal(got, &after) != nil {
			return
		}
		if depth(before) != depth(after) {
			t.Fatalf("JSON(%q) = %q has another depth", raw, got)
		}
	})
}

func depth(v any) int {
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, value := range v {
			deepest = max(deepest, depth(value))
		}
	case []any:
		for _, value := range v {
			deepest = max(deepest, depth(value))
		}
	default:
		return 0
	}
	return deepest + 1
}

func FuzzText(f *testing.F) {
	for _, seed := range []string{
		"", "password=x", "--token --password x", "Bearer " + jwtToken, pem, card, "https://a:b@c:d@e",
		"token: [redacted])", "a=[redacted]b",
	} {
		f.Add(seed, "x")
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		got := redaction.Text(before + " " + apiKey + " " + after)
		if strings.Contains(got, apiKey) {
			t.Fatalf("the key shows in %q", got)
		}
		if again := redaction.Text(got); again != got {
			t.Fatalf("redacted again: %q, was %q", again, got)
		}
	})
}

func BenchmarkJSON(b *testing.B) {
	for name, text := range map[string]string{
		"ordinary": `{"command":"go test ./...","description":"run the tests","file_path":"/home/ada/src/project/main.go","n":42,"flags":["-v","-count=1"]}`,
		"secret":   `{"command":"curl -H 'Authorization: Bearer abc123def456ghi' https://example.org","api_key":"x"}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := redaction.JSON([]byte(text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
