package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"writ/client"
)

// ask NAME ARGUMENTS makes a payment with the server's first key that a policy holds,
// and puts the id of the request into the environment.
func ask(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 2, "ask NAME ARGUMENTS")
	d, err := agent(ts).EnforceHarness(context.Background(), client.HarnessCall{
		ToolName:   "pay",
		ToolInput:  json.RawMessage(args[1]),
		UserEmail:  "ada@customer.example",
		MCPContext: &client.HarnessTool{ServerName: "bank", ToolName: "pay"},
	})
	ts.Check(err)
	needs(ts, d.ApprovalID != "", "a policy that holds bank.pay")
	ts.Setenv(args[0], d.ApprovalID)
}

// polled ID prints what the agent learns of its request.
func polled(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 1, "polled ID")
	d, err := agent(ts).PollApproval(context.Background(), args[0], 0)
	ts.Check(err)
	fmt.Fprintln(ts.Stdout(), d.Status, d.Note, string(d.EditedArguments))
}

// organization NAME FILE puts the id of the first organization that whoami printed
// into the environment.
func organizationIn(ts *testscript.TestScript, neg bool, args []string) {
	needs(ts, !neg && len(args) == 2, "organization NAME FILE")
	words := strings.Fields(ts.ReadFile(args[1]))
	needs(ts, len(words) > 2, "a file that whoami printed")
	ts.Setenv(args[0], words[2])
}

func agent(ts *testscript.TestScript) *client.Client {
	return server(ts).WithKey(member(ts, "data/first-run.json", "apiKey"))
}
