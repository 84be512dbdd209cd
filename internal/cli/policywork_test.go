package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/rogpeppe/go-internal/testscript"

	"writ/client"
)

// stored NAME FILE TOKENFILE [active] stores a policy, has it count if that is said,
// and puts its id into the environment.
func stored(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && (len(args) == 3 || len(args) == 4 && args[3] == "active"), "stored NAME FILE TOKENFILE [active]")
	owner := server(ts).As(ts.ReadFile(args[2]))
	made, err := owner.CreatePolicy(context.Background(), "", client.YAMLDocument, ts.ReadFile(args[1]))
	ts.Check(err)
	if len(args) == 4 {
		_, err = owner.ActivatePolicy(context.Background(), made.ID, 0)
		ts.Check(err)
	}
	ts.Setenv(args[0], made.ID)
}

// acts AGENT SERVER TOOL ARGUMENTS asks for a decision with the server's first key,
// and prints it.
func acts(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 4, "acts AGENT SERVER TOOL ARGUMENTS")
	var answer struct {
		Action string `json:"action"`
	}
	err := agent(ts).Call(context.Background(), http.MethodPost, "/iap/enforce", nil, map[string]any{
		"source": "script", "session_id": "s", "agent_id": args[0], "tool_name": args[2],
		"tool_input":  json.RawMessage(args[3]),
		"mcp_context": map[string]string{"server_name": args[1], "tool_name": args[2]},
	}, &answer)
	ts.Check(err)
	fmt.Fprintln(ts.Stdout(), answer.Action)
}
