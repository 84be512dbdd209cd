package cli_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"writ/client"
)

// approver is a browser with the first account's owner in front of it, who answers
// the terminal as ANSWER says: approve by default, "key" for only a key, or "no".
func approver() {
	if err := answerTerminal(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "approver:", err)
		os.Exit(1)
	}
}

func answerTerminal(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(cmp.Or(os.Getenv("FIRST_RUN"), "data/first-run.json"))
	if err != nil {
		return err
	}
	var owner struct{ Email, Password string }
	if err := json.Unmarshal(text, &owner); err != nil {
		return err
	}
	c := &client.Client{BaseURL: u.Scheme + "://" + u.Host}
	in, err := c.Login(ctx, owner.Email, owner.Password)
	if err != nil {
		return err
	}
	person, code := c.As(in.AccessToken), u.Query().Get("user_code")
	seen, err := person.FindDevice(ctx, code)
	if err != nil {
		return err
	}
	// What a person sees is kept for the script.
	shown := fmt.Sprintf("%s %q %s\n", seen.Client, seen.Product, seen.UserAgent)
	if err := os.WriteFile("shown", []byte(shown), 0o600); err != nil {
		return err
	}
	if os.Getenv("ANSWER") == "no" {
		return person.DenyDevice(ctx, code)
	}
	return person.ApproveDevice(ctx, client.DeviceApproval{
		UserCode: code, OrganizationID: chosenOrganization(in, u.Query().Get("org")),
		KeyOnly: os.Getenv("ANSWER") == "key",
	})
}

// chosenOrganization is the one the terminal proposes, or the first; empty for who is in none.
func chosenOrganization(in client.SignIn, proposed string) string {
	for _, o := range in.Organizations {
		if o.ID == proposed || o.Name == proposed {
			return o.ID
		}
	}
	if len(in.Organizations) == 0 {
		return ""
	}
	return in.Organizations[0].ID
}

// endtoken FILE makes the access token of a sign-in one that has ended.
func endToken(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 1, "endtoken FILE")
	var saved map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &saved))
	needs(ts, saved["accessToken"] != nil, "a sign-in with a session")
	saved["expiresAt"], saved["accessToken"] = time.Now().Add(-time.Minute).UTC().Format(time.RFC3339), "ended"
	text, err := json.Marshal(saved)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), text, 0o600))
}

// setfrom NAME FILE MEMBER puts a member of a JSON file into the environment.
func setFrom(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 3, "setfrom NAME FILE MEMBER")
	ts.Setenv(args[0], member(ts, args[1], args[2]))
}

// mode MODE FILE checks who may read a file.
func fileMode(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 2, "mode MODE FILE")
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[0] {
		ts.Fatalf("%s has mode %s, want %s", args[1], got, args[0])
	}
}

// publishedFile is the file of published command lines, as both of them write it.
const publishedFile = `{
  "apiKey": "%s",
  "email": "ada@example.org",
  "userId": "u1",
  "orgId": "o1",
  "savedAt": "2026-01-02T03:04:05.678Z"
}`

// published JSONFILE is a sign-in of a published command line, with the API key in a
// file.
func published(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 1, "published JSONFILE")
	ts.Check(os.MkdirAll(ts.MkAbs("home/.armoriq"), 0o700))
	text := fmt.Sprintf(publishedFile, member(ts, args[0], "apiKey"))
	ts.Check(os.WriteFile(ts.MkAbs("home/.armoriq/credentials.json"), []byte(text), 0o600))
}

const cliPage = "../../docs/cli.md"

// atHome gives commands a home of their own, with somebody in front of the browser.
const atHome = `export BROWSER=approver HOME=$PWD/home XDG_CONFIG_HOME=$PWD/home/.config TMPDIR=$PWD/home FIRST_RUN=$PWD/data/first-run.json
unset WRIT_URL WRIT_API_KEY WRIT_ACCESS_TOKEN; mkdir -p home
`

// TestCLIPage runs every command of the page on writ, as TestEnforcementPage does.
func TestCLIPage(t *testing.T) {
	t.Parallel()
	runPage(t, readBlocks(t, cliPage), 5)
}

// TestCLIPageCommands checks that the page names every command, and no other.
func TestCLIPageCommands(t *testing.T) {
	t.Parallel()
	help := runShell(t, t.TempDir(), "writ --help\n")
	_, list, found := strings.Cut(help, "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	commands := map[string]bool{}
	for line := range strings.Lines(list) {
		commands["writ "+strings.Fields(line)[0]] = true
	}
	if !found || len(commands) < 10 {
		t.Fatalf("writ has %d commands, want at least 10:\n%s", len(commands), help)
	}
	for _, row := range tableRows(t, cliPage, "command", "") {
		words := strings.Fields(strings.Trim(row[0], "`"))
		name := strings.Join(words[:min(2, len(words))], " ")
		if _, known := commands[name]; !known {
			t.Errorf("%s is no command", name)
		}
		commands[name] = false
	}
	for name, untold := range commands {
		if untold {
			t.Errorf("the page does not name %s", name)
		}
	}
}
