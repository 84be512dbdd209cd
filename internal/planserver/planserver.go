// Package planserver is the MCP server by which a coding agent's model declares its plan: it
// registers the plan with the Writ server, for the session and turn of a ticket that the
// host's hook adds to the call. Whatever the model says of its session is not read.
//
// It holds nothing: server and key are read from the guard file for every call, and the plan
// is the Writ server's. It allows nothing either. What goes wrong is an error that says what
// the model, or the person, can do.
package planserver

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/client"
	"writ/internal/hook/guardfile"
)

// The tools.
const (
	RegisterTool = "register_intent_plan"
	ResetTool    = "reset_intent_plan"
	GetTool      = "get_intent_plan"
)

const (
	answerTime = 5 * time.Second // for one answer of the Writ server
	maxMessage = 4 << 20         // bytes of one message of the host; a plan has at most 256 KiB
)

// Plans are the plans at the Writ server.
type Plans interface {
	DeclarePlan(ctx context.Context, p client.PlanRequest) (client.PlanToken, error)
	TicketState(ctx context.Context, ticket string) (client.SessionState, error)
	EndSessionPlan(ctx context.Context, ticket string) (client.SessionState, error)
}

// Guard is what the plan server works for.
type Guard struct {
	Plans  Plans
	Source string        // the harness, as plans name it
	Answer time.Duration // how long the Writ server may take for one answer; 0: answerTime
}

func (g Guard) limit() time.Duration {
	if g.Answer == 0 {
		return answerTime
	}
	return g.Answer
}

// Open finds what to work for. It is called for every call.
type Open func() (Guard, error)

// FromFile opens what a guard file names.
func FromFile(path string) Open {
	return func() (Guard, error) {
		file, err := guardfile.Read(path)
		if err != nil {
			return Guard{}, err
		}
		return Guard{
			Plans:  &client.Client{BaseURL: file.Server, APIKey: file.Key, HTTP: direct},
			Source: sources[file.Host],
			Answer: file.AnswerLimit(),
		}, nil
	}
}

// sources are the harnesses by the hosts of guard files.
var sources = map[string]string{"gemini": "gemini-cli"}

// direct connects without the proxy that the environment names: a project can set the environment.
var direct = &http.Client{Transport: &http.Transport{
	MaxIdleConns: 2, IdleConnTimeout: time.Minute,
}}

// Harden takes out of the environment what would have us trust other certificates: a project can set it. Call it before
// anything is sent.
func Harden() {
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "GODEBUG"} {
		_ = os.Unsetenv(name) // a name that cannot be unset does not exist
	}
}

// Serve serves the tools on standard input and output until the host closes them.
func Serve(ctx context.Context, open Open, version string) error {
	return New(open, version).Run(ctx, &mcp.StdioTransport{MaxLineLength: maxMessage})
}

// New makes the server of the tools.
func New(open Open, version string) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "writ-plan", Title: "Writ plans", Version: version},
		&mcp.ServerOptions{Instructions: instructions, Capabilities: &mcp.ServerCapabilities{}})
	s := &service{open: open}
	server.AddTool(&mcp.Tool{
		Name: RegisterTool, Title: "Register a plan", Description: registerDescription,
		InputSchema: json.RawMessage(registerSchema),
	}, s.tool(s.register))
	server.AddTool(&mcp.Tool{
		Name: ResetTool, Title: "End the plan", Description: resetDescription,
		InputSchema: json.RawMessage(ticketSchema),
	}, s.tool(s.reset))
	server.AddTool(&mcp.Tool{
		Name: GetTool, Title: "Show the plan", Description: getDescription,
		InputSchema: json.RawMessage(ticketSchema),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, s.tool(s.get))
	return server
}
