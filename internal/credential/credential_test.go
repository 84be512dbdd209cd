package credential_test

import (
	"strings"
	"testing"

	"writ/internal/credential"
	"writ/internal/fault"
)

const key = "ak_test_0123"

func TestFromHeaders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		authorization []string
		xAPIKey       []string
		want          credential.Presented
	}{
		{"nothing", nil, nil, credential.Presented{}},
		{"x-api-key", nil, []string{key}, credential.Presented{APIKey: key}},
		{"bearer key", []string{"Bearer " + key}, nil, credential.Presented{APIKey: key}},
		{"both", []string{"Bearer " + key}, []string{key}, credential.Presented{APIKey: key}},
		{"comma-doubled", nil, []string{key + ", " + key}, credential.Presented{APIKey: key}},
		{"both, doubled", []string{"Bearer " + key}, []string{key + "," + key}, credential.Presented{APIKey: key}},
		{"header twice", nil, []string{key, key}, credential.Presented{APIKey: key}},
		{"scheme in capitals", []string{"BEARER " + key}, nil, credential.Presented{APIKey: key}},
		{
			"spaces around", []string{"  bearer   " + key + " "}, []string{" " + key + "\t"},
			credential.Presented{APIKey: key},
		},
		{"access token", []string{"Bearer a.b.c"}, nil, credential.Presented{Bearer: "a.b.c"}},
		{"access token and empty key", []string{"Bearer a.b.c"}, []string{""}, credential.Presented{Bearer: "a.b.c"}},
		{
			"a key beside a token", []string{"Bearer a.b.c"}, []string{key},
			credential.Presented{APIKey: key, Bearer: "a.b.c"},
		},
		{"another scheme", []string{"Basic dTpw"}, nil, credential.Presented{}},
		{"scheme alone", []string{"Bearer"}, nil, credential.Presented{}},
		{"another scheme beside a key", []string{"Basic dTpw"}, []string{key}, credential.Presented{APIKey: key}},
	} {
		got, err := credential.FromHeaders(c.authorization, c.xAPIKey)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
}

func TestFromHeadersRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		authorization []string
		xAPIKey       []string
	}{
		{"two keys in one header", nil, []string{key + ", " + key + "4"}},
		{"two keys in two headers", []string{"Bearer " + key}, []string{key + "4"}},
		{"two keys on two lines", nil, []string{key, key + "4"}},
		{"a key and a token in one header", []string{"Bearer " + key + ", Bearer a.b.c"}, nil},
		{"two tokens", []string{"Bearer a.b.c", "Bearer a.b.d"}, nil},
		{"no key in x-api-key", nil, []string{"hunter2"}},
		{"key with a space", nil, []string{"ak_a b"}},
		{"token with a space", []string{"Bearer a b"}, nil},
		{"long key", nil, []string{"ak_" + strings.Repeat("a", 600)}},
		{"long token", []string{"Bearer " + strings.Repeat("a", 9000)}, nil},
	} {
		got, err := credential.FromHeaders(c.authorization, c.xAPIKey)
		if !fault.Is(err, fault.Unauthenticated) || got != (credential.Presented{}) {
			t.Errorf("%s: %+v, %v; want unauthenticated", c.name, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error shows what was sent", c.name)
		}
		if c.name == "no key in x-api-key" && !strings.Contains(err.Error(), "begins with ak_") {
			t.Errorf("%s: %v does not say what a key looks like", c.name, err)
		}
	}
}

func FuzzFromHeaders(f *testing.F) {
	f.Add("Bearer "+key, key+", "+key)
	f.Add("bearer a.b.c", "")
	f.Add("Basic x, Bearer "+key, " , ")
	f.Add("Bearer a.b.c", key)
	f.Fuzz(func(t *testing.T, authorization, xAPIKey string) {
		got, err := credential.FromHeaders([]string{authorization}, []string{xAPIKey})
		switch {
		case err != nil && got != (credential.Presented{}):
			t.Errorf("an error and %+v", got)
		case got.APIKey != "" && got.Bearer != "" && !strings.Contains(xAPIKey, got.APIKey):
			t.Errorf("two credentials in one header: %+v", got)
		case got.APIKey != "" && (!strings.HasPrefix(got.APIKey, "ak_") || strings.ContainsAny(got.APIKey, ", \t\n")):
			t.Errorf("not a key: %q", got.APIKey)
		case strings.HasPrefix(got.Bearer, "ak_") || strings.ContainsAny(got.Bearer, ", \t\n"):
			t.Errorf("not a token: %q", got.Bearer)
		}
	})
}
