package execution

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/canonical"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/names"
	"writ/internal/redaction"
	"writ/internal/spelling"
)

const (
	maxLabel = 200 // bytes of a name or id; longer ones are cut
	maxError = 2000
	// maxMember is how large an input or output may be to be stored. The report is
	// stored in any case.
	maxMember = 256 << 10
	// MaxRows is how many rows one request may hold.
	MaxRows = 5000
)

// ErrNoBatch refuses a body that cannot be split into rows.
var ErrNoBatch = fault.New(fault.Invalid, `the body must be {"rows": [...]}`)

// Split splits a batch into rows without reading them: a bad row must not harm the others.
// Of rows beyond MaxRows it returns only the first, for Report to refuse: a body of commas
// and digits would become a list of millions.
func Split(body []byte) ([]jsontext.Value, error) {
	var batch struct {
		Rows jsontext.Value `json:"rows"`
	}
	lenient := json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err := json.Unmarshal(body, &batch, lenient); err != nil || batch.Rows.Kind() != '[' {
		return nil, ErrNoBatch
	}
	in := jsontext.NewDecoder(bytes.NewBuffer(batch.Rows), lenient)
	if _, err := in.ReadToken(); err != nil {
		return nil, ErrNoBatch
	}
	var rows []jsontext.Value
	for in.PeekKind() != ']' && len(rows) <= MaxRows {
		row, err := in.ReadValue()
		if err != nil {
			return nil, ErrNoBatch
		}
		end := in.InputOffset() // what ReadValue gives does not outlive the next
		rows = append(rows, batch.Rows[end-int64(len(row)):end])
	}
	return rows, nil
}

// rowNames are the names of a call in a report.
var rowNames = spelling.Names{
	Server: "mcp", Tool: "tool", Arguments: "input",
	Lenient: true, Nothing: []string{plan.NotStated, notKnown},
}

// notKnown is what some clients send for what they do not know.
const notKnown = "unknown"

// wireRow has the members of every published shape, unread. A member of the wrong type
// counts as absent.
type wireRow struct {
	// The plan, and where in it.
	PlanID    jsontext.Value `json:"plan_id"`
	StepIndex jsontext.Value `json:"step_index"`
	// What was called, under one name of the many that clients have.
	Tool       jsontext.Value `json:"tool"`
	MCP        jsontext.Value `json:"mcp"`
	Input      jsontext.Value `json:"input"`
	Output     jsontext.Value `json:"output"`
	Summary    jsontext.Value `json:"result_summary"`
	Status     jsontext.Value `json:"status"`
	Error      jsontext.Value `json:"error_message"`
	ExecutedAt jsontext.Value `json:"executed_at"`
	At         jsontext.Value `json:"at"`
	DurationMs jsontext.Value `json:"duration_ms"`
	// The caller, and the person it works for.
	SessionID   jsontext.Value `json:"session_id"`
	ContextID   jsontext.Value `json:"context_id"`
	UserID      jsontext.Value `json:"user_id"`
	UserEmail   jsontext.Value `json:"user_email"`
	AgentID     jsontext.Value `json:"agent_id"`
	ClientID    jsontext.Value `json:"client_id"`
	Source      jsontext.Value `json:"source"`
	Event       jsontext.Value `json:"event"`
	IsDelegated jsontext.Value `json:"is_delegated"`
	DelegatedBy jsontext.Value `json:"delegated_by"`
	DelegatedTo jsontext.Value `json:"delegated_to"`
	Seq         jsontext.Value `json:"seq"`
	// What the call was confined to, and what the kernel refused.
	Confined jsontext.Value `json:"confined"`
	Refused  jsontext.Value `json:"refused"`
	// What the client found wrong with the call that ran.
	Alarm jsontext.Value `json:"alarm"`
	// The lease that the client decided by, and which of its calls this is.
	Lease    jsontext.Value `json:"lease"`
	LeaseUse jsontext.Value `json:"lease_use"`

	Others map[string]jsontext.Value `json:",embed"` // of which the token is read, under any of its names
}

// row is a report in the one form that is stored.
type row struct {
	shown       plan.Presented
	step        int64
	server      string
	tool        string
	status      string
	executedAt  time.Time // zero: not stated
	sessionID   string
	contextID   string
	userID      string
	agentID     string
	seq         *int64
	arguments   string // canonical, not redacted; empty: they have no such form
	statesInput bool
	output      *string // exact; nil: absent or cut
	absent      bool    // there is no output; a summary is none
	hash        [sha256.Size]byte
	confined    *Confined
	refused     []string
	alarm       string
	lease       string // an id or a signed text; empty: none
	leaseUse    *int64
	payload     payload
}

// payload is what the log stores beside the record, redacted.
type payload struct {
	Source      string         `json:"source,omitzero"`
	Event       string         `json:"event,omitzero"`
	Tool        string         `json:"tool"`
	Server      string         `json:"server,omitzero"`
	SpelledAs   string         `json:"spelledAs,omitzero"`  // the tool as it was called, if its server was split off
	StatedPlan  string         `json:"statedPlan,omitzero"` // if it is not of this organization
	Step        int64          `json:"step"`
	Status      string         `json:"status"`
	Error       string         `json:"error,omitzero"`
	Input       jsontext.Value `json:"input,omitzero"`
	Output      jsontext.Value `json:"output,omitzero"`
	ExecutedAt  string         `json:"executedAt,omitzero"`
	DurationMs  float64        `json:"durationMs,omitzero"`
	Session     string         `json:"sessionId,omitzero"`
	User        string         `json:"userId,omitzero"`
	Email       string         `json:"userEmail,omitzero"`
	Client      string         `json:"clientId,omitzero"`
	DelegatedBy string         `json:"delegatedBy,omitzero"`
	DelegatedTo string         `json:"delegatedTo,omitzero"`
	Seq         *int64         `json:"seq,omitzero"`
	Confined    *Confined      `json:"confined,omitzero"`
	Refused     []string       `json:"refused,omitempty"`
	Alarm       string         `json:"alarm,omitzero"`
	Lease       string         `json:"lease,omitzero"` // its id
	LeaseUse    *int64         `json:"leaseUse,omitzero"`
}

// parseRow reads a row of any shape. The result holds no secrets except in arguments,
// which are not stored, and in output, which is sealed.
func parseRow(raw jsontext.Value) (row, error) {
	r, err := readRow(raw)
	if err == nil && r.tool == "" {
		err = errors.New("names no tool")
	}
	return r, err
}

// readRow is parseRow for a row that may name its tool in a way that says nothing.
func readRow(raw jsontext.Value) (row, error) {
	sent, err := rowNames.Rewrite(raw)
	if err != nil {
		return row{}, errors.New("has two spellings that differ: " + err.Error())
	}
	return readSpelled(raw, sent)
}

// readSpelled reads a row that is spelled in one way.
func readSpelled(raw, sent jsontext.Value) (row, error) {
	var w wireRow
	if sent.Kind() != '{' || json.Unmarshal(sent, &w) != nil {
		return row{}, errors.New("is not a JSON object that everyone reads alike")
	}
	shown, err := w.presented()
	if err != nil {
		return row{}, err
	}
	r := row{
		shown: shown, step: -1, server: label(w.MCP),
		tool:      label(w.Tool),
		sessionID: label(w.SessionID), contextID: label(w.ContextID),
		userID: label(w.UserID), agentID: label(w.AgentID), seq: number(w.Seq),
		executedAt: instant(w.ExecutedAt, w.At), hash: hashOf(raw),
		lease: text(w.Lease), leaseUse: number(w.LeaseUse), alarm: label(w.Alarm),
	}
	if n := number(w.StepIndex); n != nil {
		r.step = *n
	}
	input, output := first(w.Input), first(w.Output, w.Summary)
	r.statesInput, r.output, r.absent = input != nil, exactOutput(w.Output), first(w.Output) == nil
	if text, err := canonical.Transform(orEmpty(input)); err == nil {
		r.arguments = string(text)
	}
	problem := redaction.Text(text(w.Error))
	r.status = statusOf(text(w.Status), problem)
	r.payload = payloadOf(&w, &r, problem)
	r.payload.Input, r.payload.Output = kept(input), kept(output)
	return r, r.readConfinement(&w)
}

// payloadOf is what the log keeps sealed of a reported row, apart from its input and
// output.
func payloadOf(w *wireRow, r *row, problem string) payload {
	p := payload{
		Source:      sourceOf(w.Source),
		Event:       label(w.Event),
		Tool:        r.tool,
		Server:      r.server,
		StatedPlan:  label(w.PlanID),
		Step:        r.step,
		Status:      r.status,
		Error:       names.Cut(problem, maxError),
		DurationMs:  positive(w.DurationMs),
		Session:     r.sessionID,
		User:        r.userID,
		Email:       label(w.UserEmail),
		Client:      label(w.ClientID),
		DelegatedBy: label(w.DelegatedBy),
		DelegatedTo: label(w.DelegatedTo),
		Seq:         r.seq,
		Alarm:       r.alarm,
	}
	if !r.executedAt.IsZero() {
		p.ExecutedAt = r.executedAt.UTC().Format(time.RFC3339Nano)
	}
	return p
}

// sourceOf is the client that a row names. Names of Writ's own parts are not for clients.
func sourceOf(raw jsontext.Value) string {
	if source := label(raw); !strings.HasPrefix(strings.ToLower(source), "writ:") {
		return source
	}
	return ""
}

// presented is what a row presents of its plan: the token if there is one. What is no token counts as absent, because
// published clients write something in its place.
func (w *wireRow) presented() (plan.Presented, error) {
	var shown plan.Shown
	for _, name := range spelling.PlanToken {
		if p := plan.ParsePresented(w.Others[name]); !p.IsZero() {
			if err := shown.Add(name, w.Others[name], p); err != nil {
				return plan.Presented{}, errors.New("has two spellings that differ: " + err.Error())
			}
		}
	}
	if !shown.IsZero() {
		return shown.Presented, nil
	}
	return plan.Presented{PlanID: label(w.PlanID)}, nil
}

// hashOf identifies a row, whatever its spelling.
func hashOf(raw jsontext.Value) [sha256.Size]byte {
	text, err := canonical.Transform(raw)
	if err != nil {
		text = bytes.TrimSpace(raw)
	}
	return sha256.Sum256(text)
}

// statusOf is the one word for how a call went. A client that blocked a call reports it as
// failed, and says so in the error.
func statusOf(status, problem string) string {
	switch strings.ToLower(status) {
	case "success", "ok", "completed":
		return Success
	case "failed", "error", "failure":
		if strings.HasPrefix(strings.ToLower(problem), "blocked by policy") {
			return Blocked
		}
		return Failed
	case "blocked", "denied":
		return Blocked
	}
	return Unknown
}

// kept is an input or output without secrets, in canonical form; or why it is not stored.
func kept(raw jsontext.Value) jsontext.Value {
	switch {
	case raw.Kind() == 0 || raw.Kind() == 'n':
		return nil
	case len(raw) > maxMember:
		return jsontext.Value(`{"omitted":"` + strconv.Itoa(len(raw)) + ` bytes"}`)
	}
	redacted, err := redaction.JSON(raw)
	if err == nil {
		redacted, err = canonical.Transform(redacted)
	}
	if err != nil {
		return jsontext.Value(`{"omitted":"no JSON that everyone reads alike"}`)
	}
	return redacted
}

// text is a member that is a string, else empty.
func text(raw jsontext.Value) string {
	var s string
	if raw.Kind() != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// label is a name or id: short, printable, without secrets, empty if it means nothing.
func label(raw jsontext.Value) string {
	s := strings.TrimSpace(strings.Map(func(c rune) rune {
		if names.Hides(c) {
			return ' '
		}
		return c
	}, text(raw)))
	if s == plan.NotStated || s == notKnown {
		return ""
	}
	return names.Cut(redaction.Text(s), maxLabel)
}

// first is the first value that is there.
func first(candidates ...jsontext.Value) jsontext.Value {
	for _, raw := range candidates {
		if raw.Kind() != 0 && raw.Kind() != 'n' {
			return raw
		}
	}
	return nil
}

func orEmpty(raw jsontext.Value) jsontext.Value {
	if raw == nil {
		return jsontext.Value("{}")
	}
	return raw
}

// number is a member that is a whole number.
func number(raw jsontext.Value) *int64 {
	if raw.Kind() != '0' {
		return nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	const most = 1 << 53
	if err != nil || n < -most || n > most {
		return nil
	}
	return &n
}

// positive is a duration in milliseconds; 0: none.
func positive(raw jsontext.Value) float64 {
	if raw.Kind() != '0' {
		return 0
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f < 0 || f > 1e12 {
		return 0
	}
	return f
}

// instant is when something happened: the first value in a form that clients use.
func instant(candidates ...jsontext.Value) time.Time {
	for _, raw := range candidates {
		s := text(raw)
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
			at, err := time.Parse(layout, s)
			if err == nil && at.Year() >= 1970 && at.Year() < 10000 {
				return at
			}
		}
	}
	return time.Time{}
}
