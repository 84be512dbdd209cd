package auditlog

import (
	"errors"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/admission"
	"writ/internal/api/route"
	"writ/internal/execution"
	"writ/internal/fault"
	"writ/internal/principal"
)

// mountExecutions serves the reports of what agents did. Published clients send a report again until they get a success
// with a JSON body, and look at nothing in it: a report that is refused would be sent for ever and hold back
// all others. So a caller who may report is answered 201, whatever the report is like, unless it cannot be
// stored now.
func (h *Handlers) mountExecutions(r *route.Router) {
	report := func(rt route.Route) route.Route {
		return rt.For(route.PlanToken).Scoped(principal.Audit).StoppedToo().Records(execution.ActionReported).
			Answers(http.StatusCreated)
	}
	route.Raw[ExecutionBody, ExecutionReportedBody](r,
		report(route.Post("/iap/audit", "Report a call that was executed")), h.reportExecution)
	route.Raw[ExecutionsBody, ExecutionsReportedBody](r, report(route.Post("/iap/audit/batch",
		"Report calls that were executed; each is taken or not by itself")), h.reportExecutionBatch)
}

// ExecutionBody documents a report. It is read by its members, in the shapes of
// every published client: what one does not send is absent.
type ExecutionBody struct {
	Tool          string         `json:"tool,omitempty" doc:"The tool's name; also as action or tool_name." example:"Bash"`
	Action        string         `json:"action,omitempty"`
	ToolName      string         `json:"tool_name,omitempty"`
	MCP           string         `json:"mcp,omitempty" doc:"The MCP server; also as server."`
	Input         map[string]any `json:"input,omitempty" doc:"The arguments; also as tool_input, arguments or params. Secrets are taken out before anything is stored."`
	ToolInput     map[string]any `json:"tool_input,omitempty"`
	Output        map[string]any `json:"output,omitempty" doc:"What came of it, any JSON."`
	ResultSummary string         `json:"result_summary,omitempty"`
	Status        string         `json:"status,omitempty" doc:"success, failed or error." example:"success"`
	ErrorMessage  string         `json:"error_message,omitempty"`
	ExecutedAt    string         `json:"executed_at,omitempty" doc:"When it ran; also as at." example:"2026-11-15T02:07:42.180Z"`
	At            string         `json:"at,omitempty"`
	DurationMs    float64        `json:"duration_ms,omitempty"`
	Token         string         `json:"token,omitempty" doc:"Of the plan: its jwt_token, or the token as an object or as text. The only credential where no API key is sent."`
	PlanID        string         `json:"plan_id,omitempty"`
	StepIndex     int            `json:"step_index,omitempty" doc:"-1: no plan."`
	SessionID     string         `json:"session_id,omitempty"`
	ContextID     string         `json:"context_id,omitempty" doc:"What the call belongs to where there is no session, as in its plan."`
	UserID        string         `json:"user_id,omitempty"`
	UserEmail     string         `json:"user_email,omitempty"`
	AgentID       string         `json:"agent_id,omitempty"`
	ClientID      string         `json:"client_id,omitempty"`
	Source        string         `json:"source,omitempty"`
	Event         string         `json:"event,omitempty"`
	Confined      *ConfinedBody  `json:"confined,omitempty" doc:"What the call was confined to. A call that was allowed only confined and does not say, or says more than it was allowed, is a finding."`
	Refused       []string       `json:"refused,omitempty" nullable:"false" doc:"What the kernel refused to the call, in words; the first 64 are kept. A refusal is a finding."`
	Alarm         string         `json:"alarm,omitempty" doc:"What the client found wrong with the call: other_arguments (the host executed others than were decided, a finding) or no_decision."`
	Seq           int64          `json:"seq,omitempty" doc:"Where a client numbers its reports, within agent and session, from 0 or 1: a gap is a finding."`
}

// ConfinedBody is what a client says that it confined a call to, in the words of the decision's confine.
type ConfinedBody struct {
	Write []string `json:"write,omitempty" nullable:"false"`
	Read  []string `json:"read,omitempty" nullable:"false"`
	Net   []string `json:"net,omitempty" nullable:"false" doc:"Each HOST:PORT; also the word none."`

	Protect []string `json:"protect,omitempty" nullable:"false"`
	Held    []string `json:"held,omitempty" nullable:"false" enum:"write,read,net" doc:"The limits that the kernel held."`
}

// ExecutionsBody documents a batch of reports.
type ExecutionsBody struct {
	Rows []ExecutionBody `json:"rows" nullable:"false" doc:"At most 5000."`
}

// ExecutionReportedBody is the answer to a report.
type ExecutionReportedBody struct {
	AuditID    string `json:"audit_id" doc:"Id of the execution; empty where the report was not taken."`
	SyncStatus string `json:"iap_sync_status" enum:"synced,failed" doc:"synced: it is in the audit log, now or since before."`
	AuditIndex *int64 `json:"iap_audit_index,omitzero" doc:"Number of its entry in the audit log."`
	Commitment string `json:"iap_commitment,omitzero" doc:"Leaf hash of that entry, hex; only when it is new."`
	Duplicate  bool   `json:"duplicate,omitzero" doc:"It was there already."`
	Error      string `json:"error,omitzero" doc:"Why it was not taken."`
}

// ExecutionsReportedBody is the answer to a batch.
type ExecutionsReportedBody struct {
	Written    int                    `json:"written" doc:"How many are in the audit log, now or since before."`
	Duplicates int                    `json:"duplicates" doc:"How many of them were there before."`
	Failures   []ExecutionFailureBody `json:"failures" nullable:"false" doc:"Those that were not taken."`
}

// ExecutionFailureBody is a row that was not taken.
type ExecutionFailureBody struct {
	Index int    `json:"index" doc:"Of the row, from 0; -1: the body itself."`
	Error string `json:"error"`
}

func (h *Handlers) reportExecution(w http.ResponseWriter, r *http.Request, caller principal.Principal) error {
	whole := func(body []byte) ([]jsontext.Value, error) { return []jsontext.Value{body}, nil }
	answers, problem, err := h.reportExecutions(r, caller, whole)
	if err != nil {
		return err
	}
	one := execution.Reported{Problem: problem}
	if problem == "" {
		one = answers[0]
	}
	if one.Problem != "" {
		return created(w, ExecutionReportedBody{SyncStatus: "failed", Error: one.Problem})
	}
	return created(w, ExecutionReportedBody{
		AuditID:    one.ID,
		SyncStatus: "synced",
		AuditIndex: &one.Index,
		Commitment: one.Commitment,
		Duplicate:  one.Duplicate,
	})
}

func (h *Handlers) reportExecutionBatch(w http.ResponseWriter, r *http.Request, caller principal.Principal) error {
	answers, problem, err := h.reportExecutions(r, caller, execution.Split)
	if err != nil {
		return err
	}
	out := ExecutionsReportedBody{Failures: []ExecutionFailureBody{}}
	if problem != "" {
		out.Failures = append(out.Failures, ExecutionFailureBody{Index: -1, Error: problem})
	}
	for i, one := range answers {
		switch {
		case one.Problem != "":
			out.Failures = append(out.Failures, ExecutionFailureBody{Index: i, Error: one.Problem})
			continue
		case one.Duplicate:
			out.Duplicates++
		}
		out.Written++
	}
	return created(w, out)
}

// unknownRows is how many rows are read of a caller without a key: each may cost a search for the plan of its token.
// Clients without a key report calls one by one.
const unknownRows = 100

// reportExecutions reads the body and reports its rows. problem is what is wrong with the whole body, which sending it
// again would not mend.
func (h *Handlers) reportExecutions(
	r *http.Request, caller principal.Principal, split func([]byte) ([]jsontext.Value, error),
) (answers []execution.Reported, problem string, err error) {
	if caller.Kind == principal.Key && caller.OrgID == "" {
		return nil, "", route.NoOrganization()
	}
	limit := h.MaxReportBytes
	if caller.Kind == "" {
		limit = min(limit, h.MaxBodyBytes) // anyone may send this much
	}
	body, release, err := h.Bodies.Read(r, limit)
	defer release()
	var rows []jsontext.Value
	if err == nil {
		rows, err = split(body)
	}
	if caller.Kind == "" && len(rows) > unknownRows {
		rows, problem = rows[:unknownRows], "without an API key only the first rows are read"
	}
	f, ok := errors.AsType[*fault.Error](err)
	switch {
	case ok && (f.Kind == fault.Invalid || f.Kind == fault.TooLarge):
		problem = f.Message
		h.Logger.WarnContext(r.Context(), "a report was not taken", "requestId", route.RequestOf(r.Context()).ID,
			"reason",
			f.Message)
	case err != nil:
		return nil, "", err
	default:
		if answers, err = h.Executions.Report(r.Context(), caller, rows); err != nil {
			return nil, "", err
		}
	}
	isTaken := func(one execution.Reported) bool { return one.Problem == "" }
	if caller.Kind == "" && !slices.ContainsFunc(answers, isTaken) {
		return nil, "", admission.Wanted(route.PlanToken)
	}
	return answers, problem, nil
}

func created(w http.ResponseWriter, body any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	return json.MarshalWrite(w, body)
}
