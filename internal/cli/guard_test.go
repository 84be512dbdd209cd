package cli_test

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// programs FOLDER builds the client's programs: what hooks start are real ones, in one folder.
func programs(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 1, "programs FOLDER")
	build := exec.Command("go", "build", "-o", ts.MkAbs(args[0])+"/", "writ/cmd/writ", "writ/cmd/writ-client",
		"writ/cmd/writ-plan")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	if err != nil {
		ts.Fatalf("build the programs: %v: %s", err, output)
	}
}

// usekeyfile FILE gives the API key in a file to the programs that follow.
func useKeyFile(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 1, "usekeyfile FILE")
	ts.Setenv("WRIT_API_KEY", strings.TrimSpace(ts.ReadFile(args[0])))
}

// privatetls VARIABLE FILE starts a server that speaks TLS, sets a variable to its address, and writes the authority of
// its certificate, which no system trusts, to a file.
func privateTLS(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 2, "privatetls VARIABLE FILE")
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	ts.Defer(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), authority, 0o600))
	ts.Setenv(args[0], server.URL)
}
