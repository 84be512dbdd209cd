package planserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/client"
)

type service struct{ open Open }

// answer is what a tool answers: a text for the model, and the same as data.
type answer struct {
	text string
	data any
}

// tool makes a tool whose errors are results that the model reads.
func (s *service) tool(
	do func(ctx context.Context, guard Guard, raw []byte) (answer, error),
) mcp.ToolHandler {
	return func(ctx context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		guard, err := s.open()
		var got answer
		if err != nil {
			err = fmt.Errorf("%w; no tool can run until that is done: tell the person", err)
		} else {
			got, err = do(ctx, guard, request.Params.Arguments)
		}
		if err != nil {
			return &mcp.CallToolResult{IsError: true, Content: text(explain(err))}, nil
		}
		return &mcp.CallToolResult{Content: text(got.text), StructuredContent: got.data}, nil
	}
}

func text(words string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: words}} }

// explain says what the model, or the person, can do about an error.
func explain(err error) string {
	answered, ok := errors.AsType[*client.Error](err)
	switch status := client.StatusOf(err); {
	case ok && status == http.StatusUnauthorized:
		return "the Writ server does not accept the key of the guard file: tell the person to run writ init gemini again"
	case ok && status >= http.StatusInternalServerError:
		return "the Writ server cannot answer now (" + answered.Message + "): call the tool again in a moment"
	case ok:
		return answered.Message
	case errors.Is(err, context.DeadlineExceeded):
		return "the Writ server did not answer in time, so that no tool can run: call this tool again, or tell the person"
	case isFailed(err):
		return "the Writ server cannot be reached, so that no tool can run: call this tool again, or tell the person"
	}
	return err.Error()
}

// errFailed is a call of the Writ server without an answer. What failed may show addresses, and the model needs none.
var errFailed = errors.New("no answer of the Writ server")

func isFailed(err error) bool { return errors.Is(err, errFailed) }

// ask calls the Writ server, and once more if there is no answer.
func ask[T any](ctx context.Context, guard Guard, call func(ctx context.Context) (T, error)) (got T, err error) {
	for range 2 {
		got, err = within(ctx, guard.limit(), call)
		if err == nil || client.StatusOf(err) != 0 || ctx.Err() != nil {
			return got, err
		}
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		err = errFailed
	}
	return got, err
}

func within[T any](ctx context.Context, limit time.Duration, call func(ctx context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return call(ctx)
}

// errNoTicket: only the hook of the host knows the session.
var errNoTicket = errors.New("session_ticket is missing, which the hook of the host adds: the hooks of Writ do not run in " +
	"this session, so tell the person to run writ doctor")

func (s *service) register(ctx context.Context, guard Guard, raw []byte) (answer, error) {
	var in planInput
	if err := decode(raw, &in); err != nil {
		return answer{}, err
	}
	if in.Ticket == "" {
		return answer{}, errNoTicket
	}
	plan, err := in.plan(guard.Source)
	if err != nil {
		return answer{}, err
	}
	request := client.PlanRequest{
		Plan: plan, SessionTicket: in.Ticket, Amends: in.Amends, IdempotencyKey: rand.Text(),
	}
	minted, err := ask(ctx, guard, func(ctx context.Context) (client.PlanToken, error) {
		return guard.Plans.DeclarePlan(ctx, request)
	})
	if err != nil {
		return answer{}, err
	}
	return registered(&in, minted), nil
}

// registeredData is the data of a registered plan. The token stays here: calls are found by their session.
type registeredData struct {
	PlanID          string   `json:"plan_id"`
	IntentReference string   `json:"intent_reference"`
	PlanHash        string   `json:"plan_hash"`
	Tools           []string `json:"tools"`
	Added           []string `json:"added,omitempty"`
}

func registered(in *planInput, minted client.PlanToken) answer {
	data := registeredData{
		PlanID:          minted.PlanID,
		IntentReference: minted.IntentReference,
		PlanHash:        minted.PlanHash,
		Added:           minted.Added,
	}
	seen := map[string]bool{}
	for _, step := range in.Steps {
		if !seen[step.Action] {
			seen[step.Action] = true
			data.Tools = append(data.Tools, step.Action)
		}
	}
	words := fmt.Sprintf("The plan is registered (%s). You may now call: %s. Other calls do not run.",
		minted.IntentReference, strings.Join(data.Tools, ", "))
	if len(minted.Added) > 0 {
		words += " A person must agree to calls of what you added: " + strings.Join(minted.Added, ", ") + "."
	}
	return answer{words, data}
}

func (s *service) reset(ctx context.Context, guard Guard, raw []byte) (answer, error) {
	in, err := ticketOf(raw)
	if err != nil {
		return answer{}, err
	}
	// Asked once: a second time the ticket would be used up.
	state, err := within(ctx, guard.limit(), func(ctx context.Context) (client.SessionState, error) {
		return guard.Plans.EndSessionPlan(ctx, in)
	})
	if err != nil && client.StatusOf(err) == 0 && !errors.Is(err, context.DeadlineExceeded) {
		err = errFailed
	}
	if err != nil {
		return answer{}, err
	}
	return answer{
		"The plan has ended. No other tool runs until you register a plan (" + RegisterTool + ").", stateOf(state),
	}, nil
}

func (s *service) get(ctx context.Context, guard Guard, raw []byte) (answer, error) {
	in, err := ticketOf(raw)
	if err != nil {
		return answer{}, err
	}
	state, err := ask(ctx, guard, func(ctx context.Context) (client.SessionState, error) {
		return guard.Plans.TicketState(ctx, in)
	})
	if err != nil {
		return answer{}, err
	}
	data := stateOf(state)
	if state.PlanID == "" {
		return answer{"This turn has no plan: register one (" + RegisterTool + ").", data}, nil
	}
	return answer{fmt.Sprintf("The plan %s is for: %s. You may call: %s. It ends at %s, or with the person's next prompt.",
		state.PlanID, state.PlanGoal, strings.Join(data.Tools, ", "), data.ExpiresAt), data}, nil
}

func ticketOf(raw []byte) (string, error) {
	var in ticketInput
	if err := decode(raw, &in); err != nil {
		return "", err
	}
	if in.Ticket == "" {
		return "", errNoTicket
	}
	return in.Ticket, nil
}

// stateData is the data of a session's plan.
type stateData struct {
	Turn      int64    `json:"turn"`
	PlanID    string   `json:"plan_id,omitempty"`
	Goal      string   `json:"goal,omitempty"`
	Tools     []string `json:"tools"`
	ExpiresAt string   `json:"expires_at,omitempty"`
}

func stateOf(state client.SessionState) stateData {
	data := stateData{Turn: state.Turn, PlanID: state.PlanID, Goal: state.PlanGoal, Tools: []string{}}
	for _, tool := range state.Tools {
		data.Tools = append(data.Tools, tool.Action)
	}
	if state.PlanExpiresAt != nil {
		data.ExpiresAt = state.PlanExpiresAt.UTC().Format(time.RFC3339)
	}
	return data
}
