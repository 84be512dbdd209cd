package credentials_test

import (
	"testing"
	"time"

	"writ/internal/cli/credentials"
)

func noEnvironment(string) string { return "" }

// TestOrder is the table of docs/cli.md: which credential counts, and for which
// server.
func TestOrder(t *testing.T) {
	t.Parallel()
	const theirs = `{"apiKey":"ak_live_theirs","email":"eve@example.org","userId":"u9","orgId":"o9","savedAt":"2026-01-01T00:00:00Z"}`
	const theirsWithServer = `{"apiKey":"ak_live_theirs","backendEndpoint":"https://writ.example/"}`
	type environment = map[string]string
	for _, c := range []struct {
		name                string
		url                 string // --url
		environment         environment
		saved               bool // signedIn
		published           string
		server, key, token  string
		email, org, keyFrom string
	}{
		{name: "nothing", server: credentials.DefaultURL},
		{
			name:   "a sign-in",
			saved:  true,
			server: here,
			key:    "ak_test_saved",
			token:  "access",
			email:  "ada@example.org",
			org:    "o1",
		},
		{
			name:   "its server, named",
			url:    here + "/",
			saved:  true,
			server: here,
			key:    "ak_test_saved",
			token:  "access",
			email:  "ada@example.org",
			org:    "o1",
		},
		{
			name:   "its server in other letters",
			url:    "HTTPS://WRIT.example",
			saved:  true,
			server: here,
			key:    "ak_test_saved",
			token:  "access",
			email:  "ada@example.org",
			org:    "o1",
		},
		{name: "another server by flag", url: there, saved: true, server: there},
		{name: "this machine without a scheme", url: "localhost:9/", server: "http://localhost:9"},
		{name: "this machine by its address", url: "127.0.0.1:9", server: "http://127.0.0.1:9"},
		{name: "this machine by its other address", url: "[::1]:9", server: "http://[::1]:9"},
		{name: "another without a scheme", url: "writ.example.org", server: "https://writ.example.org"},
		{name: "one that begins alike", url: "localhost.example.org:9", server: "https://localhost.example.org:9"},
		{name: "a variable without a scheme", environment: environment{"WRIT_URL": "localhost"},
			server: "http://localhost"},
		{name: "another server by variable", environment: environment{"WRIT_URL": there}, saved: true, server: there},
		{name: "the same host without TLS", url: "http://writ.example", saved: true, server: "http://writ.example"},
		{name: "another path", url: here + "/elsewhere", saved: true, server: here + "/elsewhere"},
		{name: "the flag before the variable", url: here, environment: environment{"WRIT_URL": there}, server: here},
		{
			name:        "the key of the environment",
			environment: environment{"WRIT_API_KEY": "ak_test_env"},
			saved:       true,
			server:      here,
			key:         "ak_test_env",
			token:       "access",
			email:       "ada@example.org",
			keyFrom:     "WRIT_API_KEY",
		},
		{name: "the token of the environment", environment: environment{"WRIT_ACCESS_TOKEN": "env"}, saved: true,
			server: here, key: "ak_test_saved", token: "env", org: "o1"},
		{name: "both, and no sign-in",
			environment: environment{"WRIT_ACCESS_TOKEN": "env", "WRIT_API_KEY": "ak_test_env"},
			server:      credentials.DefaultURL, key: "ak_test_env", token: "env", keyFrom: "WRIT_API_KEY"},

		{name: "published, of an unknown server", published: theirs, server: credentials.DefaultURL},
		{
			name:      "published, server by flag",
			url:       there,
			published: theirs,
			server:    there,
			key:       "ak_live_theirs",
			email:     "eve@example.org",
			org:       "o9",
		},
		{name: "published, server by variable", environment: environment{"WRIT_URL": there}, published: theirs,
			server: there, key: "ak_live_theirs", email: "eve@example.org", org: "o9"},
		{name: "published, their variables",
			environment: environment{"BACKEND_ENDPOINT": there + "/", "ARMORIQ_BACKEND_URL": here}, published: theirs,
			server: there, key: "ak_live_theirs", email: "eve@example.org", org: "o9"},
		{name: "published, their other variable", environment: environment{"ARMORIQ_BACKEND_URL": here},
			published: theirs,
			server:    here, key: "ak_live_theirs", email: "eve@example.org", org: "o9"},
		{
			name:        "their variables without their key",
			environment: environment{"BACKEND_ENDPOINT": there},
			server:      credentials.DefaultURL,
		},
		{name: "published, with its server", published: theirsWithServer, server: here, key: "ak_live_theirs"},
		{name: "published, with another server than named", url: there, published: theirsWithServer, server: there},
		{
			name:      "published after a sign-in",
			saved:     true,
			published: theirs,
			server:    here,
			key:       "ak_test_saved",
			token:     "access",
			email:     "ada@example.org",
			org:       "o1",
		},
		{name: "published after the environment",
			environment: environment{"WRIT_API_KEY": "ak_test_env", "WRIT_URL": here}, published: theirs,
			server: here, key: "ak_test_env", keyFrom: "WRIT_API_KEY"},
		{
			name:      "published, signed in elsewhere",
			url:       there,
			saved:     true,
			published: theirs,
			server:    there,
			key:       "ak_live_theirs",
			email:     "eve@example.org",
			org:       "o9",
		},
		{name: "published, and no key", url: there, published: `{"apiKey":"nonsense"}`, server: there},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := store(t)
			if c.saved {
				save(t, s, signedIn(time.Hour))
			}
			if c.published != "" {
				publish(t, s, c.published)
			}
			got, err := s.Find(c.url, func(name string) string { return c.environment[name] })
			if err != nil {
				t.Fatal(err)
			}
			if got.URL != c.server || got.APIKey != c.key || got.AccessToken != c.token || got.Email != c.email ||
				got.OrgID != c.org {
				t.Errorf("found %q %q %q %q %q,\nwant  %q %q %q %q %q", got.URL, got.APIKey, got.AccessToken, got.Email,
					got.OrgID,
					c.server, c.key, c.token, c.email, c.org)
			}
			if c.keyFrom != "" && got.KeyFrom != c.keyFrom || (got.APIKey == "") != (got.KeyFrom == "") {
				t.Errorf("the key is from %q, want %q", got.KeyFrom, c.keyFrom)
			}
		})
	}
}

func TestPublishedThatCannotBeRead(t *testing.T) {
	t.Parallel()
	s := store(t)
	publish(t, s, "nonsense")
	if _, err := s.Find(here, noEnvironment); err == nil {
		t.Error("no error")
	}
	save(t, s, signedIn(time.Hour))
	if found, err := s.Find("", noEnvironment); err != nil || found.APIKey != "ak_test_saved" {
		t.Errorf("with a sign-in of our own: %+v, %v", found, err)
	}
}
