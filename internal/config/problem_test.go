package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/config"
)

func TestAllProblemsTogether(t *testing.T) {
	t.Parallel()
	// In the reverse of the order in which they must come out.
	got := problems(t, noFiles, "WRIT_ZEBRA=1", "WRIT_APPLE=1", "WRIT_LOG_FORMAT=xml", "WRIT_SMTP_URL=smtp://",
		"DATABASE_URL=mysql://root:hunter2@db/x", "WRIT_PROXY_TOKEN=hunter2", "PORT=x", "WRIT_ENV=production")
	want := "PORT WRIT_PUBLIC_URL DATABASE_URL WRIT_MASTER_KEY WRIT_PROXY_TOKEN WRIT_SMTP_URL WRIT_MAIL_FROM WRIT_LOG_FORMAT WRIT_APPLE WRIT_ZEBRA"
	if variablesOf(got) != want {
		t.Errorf("problems of\n%s, want\n%s", variablesOf(got), want)
	}
	if strings.Contains(got.Error(), "hunter2") {
		t.Errorf("a secret is shown: %v", got)
	}
}

func TestProblemsText(t *testing.T) {
	t.Parallel()
	got := problems(t, noFiles, "PORT=x", "WRIT_LOG_FORMAT=xml", "WRIT_A\n  PORT=x").Error()
	want := `the settings have problems:
  PORT: must be a whole number from 0 to 65535
  WRIT_LOG_FORMAT: must be text or json
  "WRIT_A\n  PORT": is not a setting; the nearest name is PORT`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Error (-want +got):\n%s", diff)
	}
}

func TestUnknownNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ entry, variable, nearest string }{
		{"WRIT_SIGN_UP=closed", "WRIT_SIGN_UP", "WRIT_SIGNUP"},
		{"WRIT_CORS_ORIGIN=https://a.example", "WRIT_CORS_ORIGIN", "WRIT_CORS_ORIGINS"},
		{"WRIT_MASTERKEY_FILE=/x", "WRIT_MASTERKEY_FILE", "WRIT_MASTER_KEY_FILE"},
		{"WRIT_ENV_FILE=/x", "WRIT_ENV_FILE", "WRIT_ENV"},
		{"WRIT_PORT=9000", "WRIT_PORT", "PORT"},
		{"WRIT_DATABASE_URL=postgres://db/writ", "WRIT_DATABASE_URL", "DATABASE_URL"},
		{"WRIT_SMTP_URL_=x", "WRIT_SMTP_URL_", "WRIT_SMTP_URL"},
	} {
		got := problems(t, noFiles, c.entry)
		want := config.Problem{Variable: c.variable, Message: "is not a setting; the nearest name is " + c.nearest}
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s: problems = %q, want %q", c.entry, got, want)
		}
	}
}

// TestSlipsOfNamesWithoutPrefix: nobody is told that DATABASE_URLFILE means nothing unless the server says so, which
// would start on SQLite.
func TestSlipsOfNamesWithoutPrefix(t *testing.T) {
	t.Parallel()
	for variable, nearest := range map[string]string{
		"DATABASE_URLFILE":               "DATABASE_URL_FILE",
		"DATABSE_URL":                    "DATABASE_URL",
		"DATABASE_ULR":                   "DATABASE_URL",
		"DATABASEURL":                    "DATABASE_URL",
		"TELEMETRY_DATABASEURL":          "TELEMETRY_DATABASE_URL",
		"TELEMETRY_DATABASE_URL_PATH":    "TELEMETRY_DATABASE_URL",
		"AUDIT_PAYLOAD_RETENTION_DAY":    "AUDIT_PAYLOAD_RETENTION_DAYS",
		"AUDIT_PAYLOADS_RETENTION_DAY":   "AUDIT_PAYLOAD_RETENTION_DAYS",
		"OBSERVABILITY_RETENTION_DAYS_2": "OBSERVABILITY_RETENTION_DAYS",
		"STRIPE_WEBHOOKSECRET":           "STRIPE_WEBHOOK_SECRET",
		"STRIPE_SECRET_KEYFILE":          "STRIPE_SECRET_KEY_FILE",
	} {
		got := problems(t, noFiles, variable+"=x")
		want := config.Problem{Variable: variable, Message: "is not a setting; the nearest name is " + nearest}
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s: problems = %q, want %q", variable, got, want)
		}
	}
}

// TestNamesOfOtherProgramsStopNothing: the environment of a machine holds more than our settings.
func TestNamesOfOtherProgramsStopNothing(t *testing.T) {
	t.Parallel()
	for variable, nearest := range map[string]string{
		"DATABASE_URL_TEST":    "DATABASE_URL",
		"DATABASE_URLS":        "DATABASE_URL",
		"DATABASE_URI":         "DATABASE_URL",
		"STRIPE_SECRET":        "STRIPE_SECRET_KEY",
		"AUDIT_RETENTION_DAYS": "AUDIT_PAYLOAD_RETENTION_DAYS",
	} {
		want := []config.Problem{{
			Variable: variable, Message: "is not a setting; the nearest name is " + nearest + ", which is not set",
		}}
		if diff := cmp.Diff(want, mustLoad(t, variable+"=x").Doubts); diff != "" {
			t.Errorf("%s: doubts (-want +got):\n%s", variable, diff)
		}
	}
	for _, variable := range []string{
		"DATABASE_NAME", "DATABASE_UID", "DATABASE_HOST", "DATABASE", "TEST_DATABASE_URL", "AUDIT_LOG", "AUDIT",
		"STRIPE_PUBLISHABLE_KEY", "OBSERVABILITY_ENDPOINT", "TELEMETRY_ENABLED", "PORTS", "POST", "LOG_LEVEL",
	} {
		if doubts := mustLoad(t, variable+"=x").Doubts; len(doubts) > 0 {
			t.Errorf("%s: doubts = %q", variable, doubts)
		}
	}
	both := mustLoad(t, "AUDIT_PAYLOAD_RETENTION_DAY=3", "AUDIT_PAYLOAD_RETENTION_DAYS=30", "STRIPE_SECRET=x",
		"AUDIT_RETENTION_DAYS=3")
	if len(both.Doubts) != 1 || both.Doubts[0].Variable != "STRIPE_SECRET" {
		t.Errorf("beside a setting that is set: doubts = %q", both.Doubts)
	}
}

func TestForeignNamesAreLeftAlone(t *testing.T) {
	t.Parallel()
	mustLoad(t, "PATH=/bin", "WRITE_X=1", "writ_env=x", "PORT_FILE=/x", "WRIT_UNKNOWN_BUT_EMPTY=", "no equals sign",
		"=C:=x",
		// What the client reads.
		"WRIT_URL=http://localhost:8080", "WRIT_API_KEY=ak_test_1", "WRIT_ACCESS_TOKEN=a.b.c",
		// What Kubernetes adds for services named writ and writ-db.
		"WRIT_SERVICE_HOST=10.0.0.1", "WRIT_SERVICE_PORT=8080", "WRIT_SERVICE_PORT_HTTP=8080",
		"WRIT_PORT=tcp://10.0.0.1:8080",
		"WRIT_PORT_8080_TCP=tcp://10.0.0.1:8080", "WRIT_PORT_8080_TCP_PROTO=tcp", "WRIT_PORT_8080_TCP_PORT=8080",
		"WRIT_PORT_8080_TCP_ADDR=10.0.0.1", "WRIT_DB_SERVICE_HOST=10.0.0.2", "WRIT_DB_PORT=tcp://10.0.0.2:5432")
}

func TestDefaultText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value config.Default
		want  string
	}{
		{config.Default{}, "none"},
		{config.Default{Development: "a", Production: "a"}, "a"},
		{config.Default{Development: "a", Production: "b"}, "a (production: b)"},
		{config.Default{Development: "a"}, "a (production: none)"},
	} {
		if got := c.value.String(); got != c.want {
			t.Errorf("String = %q, want %q", got, c.want)
		}
	}
}

// TestDocumentation keeps the page and the list the same, in the same order.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, v := range config.Variables() {
		want = append(want, row(v))
	}
	got := regexp.MustCompile("(?m)^\\| `.*$").FindAllString(string(page), -1)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/configuration.md and Variables differ (-want +got):\n%s", diff)
	}
	isBlank := func(v config.Variable) bool { return v.Name == "" || v.Doc == "" }
	if slices.ContainsFunc(config.Variables(), isBlank) {
		t.Error("a variable has no name or no doc")
	}
}

// TestDocumentedNamesAreKnown: a name that a page tells people to set is not refused as a misspelled setting.
func TestDocumentedNamesAreKnown(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	named := map[string]string{}
	for _, page := range append(pages, "../../README.md", "../../deploy/compose.yaml") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`\bWRIT_[A-Z0-9_]*[A-Z0-9]\b`).FindAllString(string(text), -1) {
			named[name] = page
		}
	}
	for name, page := range named {
		_, err := config.Load([]string{name + "=x"}, noFiles)
		var found config.Problems
		if errors.As(err, &found) && slices.ContainsFunc(found, func(p config.Problem) bool {
			return p.Variable == name && strings.Contains(p.Message, "is not a setting")
		}) {
			t.Errorf("%s of %s is refused: it is neither a setting nor a variable of the client", name, page)
		}
	}
	for _, name := range []string{"WRIT_URL", "WRIT_CODE", "WRIT_ENFORCE", "WRIT_MASTER_KEY_FILE"} {
		if named[name] == "" {
			t.Errorf("no page names %s", name)
		}
	}
}

func row(v config.Variable) string {
	name, value := "`"+v.Name+"`", v.Default.String()
	if v.File {
		name += " or `_FILE`"
	}
	if v.Secret {
		name += ", secret"
	}
	if value != "none" {
		value = "`" + value + "`"
	}
	return "| " + name + " | " + value + " | " + v.Doc + " |"
}
