package cli_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"writ/client"
	"writ/internal/cli"
	"writ/internal/cli/writ"
	"writ/internal/cli/writd"
	"writ/internal/confine/sandbox"
)

// TestMain lets the scripts run both programs without building them.
func TestMain(m *testing.M) {
	sandbox.Enter() // writ run starts this program again
	testscript.Main(m, map[string]func(){
		"writd": func() { os.Exit(cli.Main("writd", writd.Run)) },
		"writ":  func() { os.Exit(cli.Main("writ", writ.Run)) },
		"curl":  curl,

		"approver": approver,
		"test-mcp": mcpProgram,

		"test-mcp-http": mcpOverHTTP,
	})
}

// TestScripts runs testdata/script. Each script has a data folder and a port of
// its own; -run TestScripts/serve runs one.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			port, err := freePort()
			mcpPort, mcpErr := freePort()
			e.Setenv("PORT", strconv.Itoa(port))
			e.Setenv("MCP_PORT", strconv.Itoa(mcpPort))
			e.Setenv("WRIT_URL", fmt.Sprintf("http://localhost:%d", port))
			e.Setenv("WRIT_DATA_DIR", "data")
			return errors.Join(err, mcpErr)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":     exits,
			"ready":     ready,
			"reached":   reached,
			"terminate": terminate,
			"signin":    signIn,
			"whoami":    whoAmI,
			"signer":    signer,
			"usekey":    useKey,
			"certid":    certID,
			"delegate":  delegate,
			"shows":     shows,
			"evidence":  evidence,
			"repin":     rePin,
			"ask":       ask,
			"polled":    polled,
			"stored":    stored,
			"acts":      acts,
			"dated":     dated,

			"organization": organizationIn,

			"endtoken":  endToken,
			"setfrom":   setFrom,
			"mode":      fileMode,
			"published": published,
			"programs":  programs,

			"privatetls": privateTLS,

			"usekeyfile": useKeyFile,
			"unboundkey": unboundKey,
			"acceptance": acceptance,

			"fingerprint": fingerprintOf,

			"receiver": receiver,
			"setfound": setFound,
			"invited":  invited,
			"factor":   factor,

			"oldproofs": oldProofs,
		},
		RequireExplicitExec: true,
	})
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}

// exits CODE PROGRAM ARGS... runs a program that must end with the code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) >= 2, "exits CODE PROGRAM [ARGS...]")
	code := 0
	err := ts.Exec(args[1], args[2:]...)
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		code = ended.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if want := args[0]; strconv.Itoa(code) != want {
		ts.Fatalf("exit code %d, want %s", code, want)
	}
}

// ready waits until the server at WRIT_URL is.
func ready(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 0, "ready")
	deadline := time.Now().Add(2 * time.Minute)
	for {
		_, err := server(ts).Ready(context.Background())
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("not ready: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// terminate asks the programs in the background to end, as a system does.
func terminate(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 0, "terminate")
	for _, cmd := range ts.BackgroundCmds() {
		ts.Check(cmd.Process.Signal(syscall.SIGTERM))
	}
}

// [!] signin FILE [TOKENFILE] signs in with the email and password in a JSON
// file, and keeps the access token.
func signIn(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, len(args) == 1 || len(args) == 2, "[!] signin FILE [TOKENFILE]")
	in, err := server(ts).Login(context.Background(), member(ts, args[0], "email"), member(ts, args[0], "password"))
	switch {
	case neg && client.StatusOf(err) != 401:
		ts.Fatalf("err = %v, want a refusal", err)
	case neg:
		return
	}
	ts.Check(err)
	if len(args) == 2 {
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(in.AccessToken), 0o600))
	}
}

// unboundkey NAME TOKENFILE makes a key that belongs to no organization, which only HTTP does.
func unboundKey(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 2, "unboundkey NAME TOKENFILE")
	_, err := server(ts).As(ts.ReadFile(args[1])).CreateKey(context.Background(), client.NewKey{Name: args[0]})
	ts.Check(err)
}

// whoami TOKENFILE prints whose access token it is.
func whoAmI(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 1, "whoami TOKENFILE")
	me, err := server(ts).As(ts.ReadFile(args[0])).Me(context.Background())
	ts.Check(err)
	fmt.Fprintln(ts.Stdout(), me.User.Email)
	for _, org := range me.Organizations {
		fmt.Fprintln(ts.Stdout(), org.Role, org.ID, org.Name)
	}
}

// signer TOKENFILE prints the id of the key that signed an access token.
func signer(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 1, "signer TOKENFILE")
	encoded, _, _ := strings.Cut(ts.ReadFile(args[0]), ".")
	header, err := base64.RawURLEncoding.DecodeString(encoded)
	ts.Check(err)
	var named struct{ KID string }
	ts.Check(json.Unmarshal(header, &named))
	needs(ts, named.KID != "", "the token names its key")
	fmt.Fprintln(ts.Stdout(), named.KID)
}

// usekey JSONFILE gives the API key in a file to the programs that follow.
// certID sets CERT to the id of the certificate in a file.
func certID(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 1, "certid FILE")
	token, err := os.ReadFile(ts.MkAbs("token"))
	ts.Check(err)
	c := server(ts)
	c.AccessToken = strings.TrimSpace(string(token))
	checked, err := c.CheckCertificate(context.Background(), "", client.CertificateQuestion{
		Certificate: ts.ReadFile(args[0]),
	})
	ts.Check(err)
	ts.Setenv("CERT", checked.Certificate.CertificateID)
}

func useKey(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 1, "usekey JSONFILE")
	ts.Setenv("WRIT_API_KEY", member(ts, args[0], "apiKey"))
}

// [!] shows FILE JSONFILE MEMBERS... checks that the values of all members (with
// !, of none) are in FILE.
func shows(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, len(args) >= 3, "[!] shows FILE JSONFILE MEMBERS...")
	text := ts.ReadFile(args[0])
	for _, name := range args[2:] {
		if shown := strings.Contains(text, member(ts, args[1], name)); shown == neg {
			ts.Fatalf("%s shows the %s of %s: %v", args[0], name, args[1], shown)
		}
	}
}

// member is a member of the object in a JSON file; it must be there.
func member(ts *testscript.TestScript, file, name string) string {
	var object map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(file)), &object))
	value, ok := object[name].(string)
	if !ok || value == "" {
		ts.Fatalf("%s has no %s", file, name)
	}
	return value
}

func server(ts *testscript.TestScript) *client.Client {
	return &client.Client{BaseURL: ts.Getenv("WRIT_URL")}
}

func needs(ts *testscript.TestScript, ok bool, usage string) {
	if !ok {
		ts.Fatalf("want: %s", usage)
	}
}

// acceptance JSONFILE FILE accepts every finding that a scan printed.
func acceptance(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 2, "acceptance JSONFILE FILE")
	var scanned struct {
		Findings []struct{ Fingerprint string }
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &scanned))
	var lines strings.Builder
	for _, f := range scanned.Findings {
		fmt.Fprintln(&lines, f.Fingerprint, "a person looked at it")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(lines.String()), 0o600))
}
