package config_test

import (
	"strings"
	"testing"

	"writ/internal/config"
)

// TestRefused holds one bad setting a case: the problem must name the variable
// and say what is wrong, once.
func TestRefused(t *testing.T) {
	t.Parallel()
	const (
		wantHost    = "must be http:// or https:// with a host"
		wantListen  = "must be an IP address or localhost"
		wantMetrics = "must be host:port"
		wantSMTP    = "must be smtp://, smtps:// or smtp+insecure://"
		wantSender  = "must be one mail address"
		wantNetwork = "item 1 must be an IP address or a network"
		wantToken16 = "must be at least 16 characters"
		wantToken32 = "must be at least 32 characters"
		wantPort    = "must be a whole number from 0 to 65535"
		wantKey     = "must be 32 bytes as base64 or as 64 hex digits"
	)
	for _, c := range []struct{ name, variable, value, want string }{
		{"environment", "WRIT_ENV", "prod", "must be development or production"},
		{"environment in capitals", "WRIT_ENV", "Production", "must be development or production"},
		{"environment with a space", "WRIT_ENV", "production ", "must be development or production"},
		{"listen with port", "WRIT_LISTEN", "127.0.0.1:80", wantListen},
		{"listen on a name", "WRIT_LISTEN", "example.com", wantListen},
		{"port of letters", "PORT", "http", wantPort},
		{"port too large", "PORT", "65536", wantPort},
		{"port negative", "PORT", "-1", wantPort},
		{"port with sign", "PORT", "+80", wantPort},
		{"port with zeros", "PORT", "0080", wantPort},
		{"port with space", "PORT", " 80", wantPort},
		{"port beyond 64 bits", "PORT", "99999999999999999999", wantPort},
		{"public URL without scheme", "WRIT_PUBLIC_URL", "writ.example.com", wantHost},
		{"public URL of another scheme", "WRIT_PUBLIC_URL", "ftp://writ.example.com", wantHost},
		{"public URL without host", "WRIT_PUBLIC_URL", "https://", wantHost},
		{"public URL with path", "WRIT_PUBLIC_URL", "https://writ.example.com/app", wantHost},
		{"public URL with query", "WRIT_PUBLIC_URL", "https://writ.example.com?", wantHost},
		{"public URL with fragment", "WRIT_PUBLIC_URL", "https://writ.example.com#", wantHost},
		{"public URL with user", "WRIT_PUBLIC_URL", "https://a:b@writ.example.com", wantHost},
		{"public URL with empty port", "WRIT_PUBLIC_URL", "https://writ.example.com:", wantHost},
		{"public URL with port 0", "WRIT_PUBLIC_URL", "https://writ.example.com:0", wantHost},
		{"public URL with port too large", "WRIT_PUBLIC_URL", "https://writ.example.com:65536", wantHost},
		{"public URL broken", "WRIT_PUBLIC_URL", "https://%zz", wantHost},
		{"host name with port", "WRIT_HOST_NAMES", "writ,writ.svc:8080", "item 2 must be a host name"},
		{"host name with scheme", "WRIT_HOST_NAMES", "http://writ", "item 1 must be a host name"},
		{"proxy by name", "WRIT_TRUSTED_PROXIES", "proxy.example.com", wantNetwork},
		{"proxy with zone", "WRIT_TRUSTED_PROXIES", "fe80::1%eth0", wantNetwork},
		{"proxy item empty", "WRIT_TRUSTED_PROXIES", "10.0.0.1,", "item 2 must be an IP address"},
		{
			"proxy with host bits", "WRIT_TRUSTED_PROXIES", "10.0.0.1/8",
			"item 1 must have no address bits beyond its length",
		},
		{"proxy is everyone", "WRIT_TRUSTED_PROXIES", "10.0.0.1,0.0.0.0/0", "item 2 must not be every address"},
		{"proxy is everyone in IPv6", "WRIT_TRUSTED_PROXIES", "::/0", "item 1 must not be every address"},
		{"proxy mapped", "WRIT_TRUSTED_PROXIES", "::ffff:10.0.0.0/104", "item 1 must be written as an IPv4 network"},
		{"several bad proxies", "WRIT_TRUSTED_PROXIES", "a,10.0.0.1,b", "; item 3 must be an IP address"},
		{"origin star", "WRIT_CORS_ORIGINS", "*", "item 1 must not be *: every web site could"},
		{"origin star in a list", "WRIT_CORS_ORIGINS", "https://a.example, *", "item 2 must not be *"},
		{"origin wildcard", "WRIT_CORS_ORIGINS", "https://*.example.com", "item 1 " + wantHost},
		{"origin with slash", "WRIT_CORS_ORIGINS", "https://a.example/", "item 1 " + wantHost},
		{"origin null", "WRIT_CORS_ORIGINS", "null", "item 1 " + wantHost},
		{"origin in another script", "WRIT_CORS_ORIGINS", "https://bücher.example", "item 1 " + wantHost},
		{"outbound every address", "WRIT_OUTBOUND_ALLOW", "10.0.0.0/8,0.0.0.0/0", "item 2 must not be every address"},
		{"outbound URL", "WRIT_OUTBOUND_ALLOW", "https://hooks.corp.example", "item 1 must be a host name"},
		{"outbound wildcard", "WRIT_OUTBOUND_ALLOW", "*.corp.example", "item 1 must be a host name"},
		{"draft longer than an answer may take", "WRIT_DRAFT_SECONDS", "56", "must be a whole number from 1 to 55"},
		{"draft without tokens", "WRIT_DRAFT_MAX_TOKENS", "0", "must be a whole number from 100 to 32000"},
		{"no drafts", "WRIT_DRAFT_PER_DAY", "0", "must be a whole number from 1 to 10000"},
		{"body too small", "WRIT_MAX_BODY_BYTES", "1023", "must be a whole number from 1024 to 67108864"},
		{"body too large", "WRIT_MAX_BODY_BYTES", "67108865", "must be a whole number from 1024 to 67108864"},
		{"body with unit", "WRIT_MAX_BODY_BYTES", "1MiB", "must be a whole number from 1024 to 67108864"},
		{
			"too little memory", "WRIT_MEMORY_LIMIT_BYTES", "1000000",
			"must be a whole number from 67108864 to 1099511627776",
		},
		{"shutdown at once", "WRIT_SHUTDOWN_SECONDS", "0", "must be a whole number from 1 to 300"},
		{"shutdown too late", "WRIT_SHUTDOWN_SECONDS", "301", "must be a whole number from 1 to 300"},
		{"master key short", "WRIT_MASTER_KEY", "abcd", wantKey},
		{"sign-up", "WRIT_SIGNUP", "yes", "must be open or closed"},
		{"credit below nothing", "WRIT_REFERRAL_CREDIT_CENTS", "-1", "must be a whole number from 0 to 1000000"},
		{"proxy token short", "WRIT_PROXY_TOKEN", proxyToken[1:], wantToken32},
		{"proxy token with space", "WRIT_PROXY_TOKEN", proxyToken + " x", wantToken32},
		{"proxy token not ASCII", "WRIT_PROXY_TOKEN", proxyToken + "ü", wantToken32},
		{"proxy token of few characters", "WRIT_PROXY_TOKEN", strings.Repeat("ab", 16), "is easily guessed"},
		{"proxy token that repeats", "WRIT_PROXY_TOKEN", strings.Repeat("0123456789abcdef", 2), "is easily guessed"},
		{"a proxy token to replace", "WRIT_PROXY_TOKEN", "change-me-0123456789-abcdefghijkl", "is easily guessed"},
		{"server without scheme", "WRIT_SERVER_URL", "writ.example.com", "must be a URL such as"},
		{"smtp of another scheme", "WRIT_SMTP_URL", "http://mail.example.com", wantSMTP},
		{"smtp without host", "WRIT_SMTP_URL", "smtp://", wantSMTP},
		{"smtp without scheme", "WRIT_SMTP_URL", "mail.example.com:587", wantSMTP},
		{"smtp with path", "WRIT_SMTP_URL", "smtp://mail.example.com/x", wantSMTP},
		{"smtp with query", "WRIT_SMTP_URL", "smtp://mail.example.com?tls=no", wantSMTP},
		{"smtp with bad port", "WRIT_SMTP_URL", "smtp://mail.example.com:0", wantSMTP},
		{"smtp user alone", "WRIT_SMTP_URL", "smtp://user@mail.example.com", "must have both a user and a password"},
		{
			"smtp password alone", "WRIT_SMTP_URL", "smtp://:password@mail.example.com",
			"must have both a user and a password",
		},
		{
			"smtp insecure elsewhere", "WRIT_SMTP_URL", "smtp+insecure://mail.example.com:25",
			"must not be smtp+insecure:// for another machine",
		},
		{
			"smtp insecure to an address", "WRIT_SMTP_URL", "smtp+insecure://192.0.2.1:25",
			"must not be smtp+insecure:// for another machine",
		},
		{
			"smtp insecure to a look-alike", "WRIT_SMTP_URL", "smtp+insecure://localhost.example.com:25",
			"must not be smtp+insecure:// for another machine",
		},
		{
			"smtp insecure without port", "WRIT_SMTP_URL", "smtp+insecure://localhost",
			"must have a port with smtp+insecure://",
		},
		{"sender without domain", "WRIT_MAIL_FROM", "Writ", wantSender},
		{"two senders", "WRIT_MAIL_FROM", "a@example.com, b@example.com", wantSender},
		{"sender with tab", "WRIT_MAIL_FROM", "Writ\t<a@example.com>", wantSender},
		{"sender with line break", "WRIT_MAIL_FROM", "=?utf-8?q?a=0D=0ABcc:_b?= <a@example.com>", wantSender},
		{"metrics without port", "WRIT_METRICS_LISTEN", "127.0.0.1", wantMetrics},
		{"metrics without host", "WRIT_METRICS_LISTEN", ":9090", wantMetrics},
		{"metrics on a name", "WRIT_METRICS_LISTEN", "example.com:9090", wantMetrics},
		{"metrics with bad port", "WRIT_METRICS_LISTEN", "127.0.0.1:http", wantMetrics},
		{"metrics token short", "WRIT_METRICS_TOKEN", "metrics-token-1", wantToken16},
		{"witness without scheme", "WRIT_WITNESS_URL", "witness.example.com", "must be a URL such as"},
		{"witness with a user", "WRIT_WITNESS_URL", "https://a:b@witness.example.com", "must be a URL such as"},
		{"log level", "WRIT_LOG_LEVEL", "trace", "must be debug, info, warn or error"},
		{"log level with offset", "WRIT_LOG_LEVEL", "info+2", "must be debug, info, warn or error"},
		{"log format", "WRIT_LOG_FORMAT", "xml", "must be text or json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := problems(t, noFiles, c.variable+"="+c.value)
			if len(got) != 1 || got[0].Variable != c.variable || !strings.Contains(got[0].Message, c.want) {
				t.Errorf("problems = %q, want one of %s with %q", got, c.variable, c.want)
			}
		})
	}
}

func TestDraftURL(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"models.example.com", "ftp://models.example.com", "https://a:b@models.example.com",
		"https://models.example.com/?key=x", "https:///v1",
	} {
		got := problems(t, noFiles, "WRIT_DRAFT_URL="+value, "WRIT_DRAFT_MODEL=small")
		if len(got) != 1 || got[0].Variable != "WRIT_DRAFT_URL" ||
			!strings.Contains(got[0].Message, "must be a URL such as") {
			t.Errorf("%q: problems = %q", value, got)
		}
	}
	for given, missing := range map[string]string{
		"WRIT_DRAFT_URL=https://models.example.com": "WRIT_DRAFT_MODEL",
		"WRIT_DRAFT_MODEL=small":                    "WRIT_DRAFT_URL",
		"WRIT_DRAFT_KEY=key":                        "WRIT_DRAFT_URL",
		"WRIT_WITNESS_TOKEN=witness-token-16":       "WRIT_WITNESS_URL",
	} {
		if got := problems(t, noFiles, given); len(got) != 1 || got[0].Variable != missing {
			t.Errorf("%s alone: problems = %q, want one of %s", given, got, missing)
		}
	}
}

func TestDatabaseURL(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"mysql://db/writ", "db/writ", "host=db dbname=writ", "postgres:writ", "postgres://user:pass%zz@db/writ",
		"sqlite://x", "postgres://writ:p@ss@db/writ", "postgres://writ:p#ss@db/writ",
		"postgres://writ:p@ss/w@db/writ", "postgres://writ:12/34@db/writ", "postgres://writ:12345?tail@db/writ",
		"postgres://writ:543?x@db:5432/writ", "postgres:///writ?user=writ&password=p@ss",
	} {
		got := problems(t, noFiles, "DATABASE_URL="+value, "WRIT_MASTER_KEY="+masterKey)
		if len(got) != 1 || got[0].Variable != "DATABASE_URL" ||
			!strings.Contains(got[0].Message, "must be a postgres://") {
			t.Errorf("%q: problems = %q", value, got)
		}
	}
	for _, value := range []string{
		"postgres://db/writ", "postgresql://a:b@db:5432/writ?sslmode=verify-full",
		"postgres:///writ?host=/run/postgresql", "postgres://a:5432,b:5432/writ", "postgres:///writ?password=p%40ss",
		"postgres://writ:p%3Fss@db/writ?application_name=writ@example.com",
	} {
		if got := mustLoad(t, "DATABASE_URL="+value, "WRIT_MASTER_KEY="+masterKey); got.DatabaseURL.Reveal() != value {
			t.Errorf("DatabaseURL = %q, want %q", got.DatabaseURL.Reveal(), value)
		}
	}
}

func TestSMTPURL(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"smtp://mail.example.com", "smtp://user%40example.com:p%2Fw@mail.example.com:2525/", "smtps://Mail.example.com",
		"smtp+insecure://localhost:25", "smtp+insecure://127.0.0.1:1025", "smtp+insecure://[::1]:1025",
	} {
		if got := mustLoad(t, "WRIT_SMTP_URL="+value).SMTPURL.Reveal(); got != value {
			t.Errorf("SMTPURL = %q, want %q", got, value)
		}
	}
}

func TestWeakMasterKeys(t *testing.T) {
	t.Parallel()
	for key, weak := range map[string]bool{
		strings.Repeat("0", 64):                                 true,
		strings.Repeat("5a", 32):                                true,
		strings.Repeat("0123456789abcdef", 4):                   true,
		strings.Repeat("A", 43) + "=":                           true,
		"9f2ac1" + strings.Repeat("0b7d5e3846", 5) + "a1c4f297": false,
	} {
		if got := mustLoad(t, "WRIT_MASTER_KEY="+key).MasterKeyIsWeak(); got != weak {
			t.Errorf("%.8s…: weak is %t", key, got)
		}
	}
	if mustLoad(t).MasterKeyIsWeak() {
		t.Error("a key that the server makes is weak")
	}
}

func TestRequired(t *testing.T) {
	t.Parallel()
	const production, publicURL = "WRIT_ENV=production", "WRIT_PUBLIC_URL=https://writ.example.com"
	for _, c := range []struct {
		name    string
		environ []string
		want    config.Problem
	}{
		{"public URL in production", []string{production, "WRIT_MASTER_KEY=" + masterKey},
			config.Problem{Variable: "WRIT_PUBLIC_URL", Message: "is required in production"}},
		{"master key in production", []string{production, publicURL},
			config.Problem{Variable: "WRIT_MASTER_KEY", Message: "is required in production"}},
		{"an empty variable is not set", []string{production, publicURL, "WRIT_MASTER_KEY="},
			config.Problem{Variable: "WRIT_MASTER_KEY", Message: "is required in production"}},
		{"the last of a repeated variable counts",
			[]string{production, publicURL, "WRIT_MASTER_KEY=" + masterKey, "WRIT_MASTER_KEY="},
			config.Problem{Variable: "WRIT_MASTER_KEY", Message: "is required in production"}},
		{"master key with PostgreSQL", []string{"DATABASE_URL=postgres://db/writ"},
			config.Problem{Variable: "WRIT_MASTER_KEY", Message: "is required with PostgreSQL"}},
		{"sender in production with mail",
			[]string{production, publicURL, "WRIT_MASTER_KEY=" + masterKey, "WRIT_SMTP_URL=smtps://mail.example.com"},
			config.Problem{Variable: "WRIT_MAIL_FROM", Message: "is required in production with a mail server"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := problems(t, noFiles, c.environ...); len(got) != 1 || got[0] != c.want {
				t.Errorf("problems = %q, want %q", got, c.want)
			}
		})
	}
}

// TestBillingIsConfiguredWhole: a server that lacks a part of it would run without quotas.
func TestBillingIsConfiguredWhole(t *testing.T) {
	t.Parallel()
	all := []string{
		"STRIPE_SECRET_KEY=stripe-key", "STRIPE_WEBHOOK_SECRET=stripe-webhook-secret",
		"WRIT_BILLING_PLANS_FILE=plans.json",
	}
	if _, err := config.Load(all, noFiles); err != nil {
		t.Errorf("all of them: %v", err)
	}
	for _, alone := range all {
		name, _, _ := strings.Cut(alone, "=")
		got := problems(t, noFiles, alone)
		if len(got) != 2 || !strings.HasSuffix(got[0].Message, "with "+name) {
			t.Errorf("%s alone: %q", name, got)
		}
	}
}
