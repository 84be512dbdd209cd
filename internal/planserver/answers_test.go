package planserver_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/client"
	"writ/internal/planserver"
)

// answers are the plans of a Writ server that answers as it is told, one after the other.
type answers struct {
	errs []error
	keys []string // Idempotency-Keys that were sent
}

func (a *answers) next() (err error) {
	if len(a.errs) > 0 {
		err, a.errs = a.errs[0], a.errs[1:]
	}
	return err
}

func (a *answers) DeclarePlan(_ context.Context, p client.PlanRequest) (client.PlanToken, error) {
	a.keys = append(a.keys, p.IdempotencyKey)
	return client.PlanToken{IntentReference: "ir_1"}, a.next()
}

func (a *answers) TicketState(context.Context, string) (client.SessionState, error) {
	return client.SessionState{}, a.next()
}

func (a *answers) EndSessionPlan(context.Context, string) (client.SessionState, error) {
	return client.SessionState{}, a.next()
}

// inProcess calls a tool of a plan server in this process.
func inProcess(t *testing.T, plans planserver.Plans, tool string, args m) (text string, failed bool) {
	t.Helper()
	server := planserver.New(func() (planserver.Guard, error) {
		return planserver.Guard{Plans: plans, Source: "gemini-cli"}, nil
	}, "test")
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	return (&host{t: t, tools: session}).bare(tool, args)
}

// TestAnswersOfTheServer: a request without an answer is repeated as the same request; an error of the server is not.
func TestAnswersOfTheServer(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection to 10.0.0.1 reset")
	status := func(code int, message string) error { return &client.Error{StatusCode: code, Message: message} }
	plan := m{"goal": "g", "steps": step("read_file"), "session_ticket": "x"}
	ticket := m{"session_ticket": "x"}
	for _, c := range []struct {
		name, tool string
		args       m
		errs       []error
		says       string // of an error; empty: it works
	}{
		{"works", "register_intent_plan", plan, nil, ""},
		{"breaks once", "register_intent_plan", plan, []error{broken}, ""},
		{"breaks twice", "register_intent_plan", plan, []error{broken, broken}, "cannot be reached"},
		{"is slow", "get_intent_plan", ticket, []error{context.DeadlineExceeded, context.DeadlineExceeded}, "in time"},
		{"a reset that breaks", "reset_intent_plan", ticket, []error{broken}, "cannot be reached"},
		{
			"refuses", "register_intent_plan", plan, []error{status(http.StatusConflict, "the plan adds x")},
			"the plan adds x",
		},
		{"is busy", "get_intent_plan", ticket, []error{status(http.StatusServiceUnavailable, "busy")}, "in a moment"},
		{"knows no such key", "get_intent_plan", ticket, []error{status(http.StatusUnauthorized, "no")}, "writ init"},
	} {
		plans := &answers{errs: c.errs}
		text, failed := inProcess(t, plans, c.tool, c.args)
		if failed != (c.says != "") || !strings.Contains(text, c.says) || strings.Contains(text, "10.0.0.1") {
			t.Errorf("%s: failed %t, %q; want %q", c.name, failed, text, c.says)
		}
		if len(plans.errs) > 0 {
			t.Errorf("%s: %d calls were not made", c.name, len(plans.errs))
		}
		if len(plans.keys) == 2 && (plans.keys[0] != plans.keys[1] || plans.keys[0] == "") {
			t.Errorf("%s: the repeated request is another one: %q", c.name, plans.keys)
		}
	}
}
