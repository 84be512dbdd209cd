package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// online judges over HTTP, in an organization of its own.
type online struct {
	server *server
	setup  setup
	org    string

	mu   sync.Mutex
	key  string // of the next runs
	runs int
}

// runsOfKey is how many runs share a key. A key may have 500 requests waiting, and nobody answers those of attacks.
const runsOfKey = 50

// nextRun numbers a run and gives it a key.
func (o *online) nextRun() (n int, key string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.runs%runsOfKey == 0 {
		var made struct{ APIKey string }
		name := fmt.Sprint("bench ", o.runs)
		err = o.server.asOwner(http.MethodPost, "/api-keys", map[string]string{"name": name, "organizationId": o.org},
			&made)
		o.key = made.APIKey
	}
	o.runs++
	return o.runs, o.key, err
}

// newOnline makes the organization of a setup: its settings, tool classes and policy.
func newOnline(s *server, classes map[string]string, with setup) (*online, error) {
	o := &online{server: s, setup: with}
	var org struct{ ID string }
	if err := s.asOwner(http.MethodPost, "/organization", map[string]string{"name": with.name}, &org); err != nil {
		return nil, err
	}
	o.org = org.ID
	settings := map[string]any{
		"intentRequired": false, "maxPlanTtlSeconds": 86400, "grounding": with.grounding,
		"unplannedBeforeText": with.beforeText(),
	}
	if err := s.asOwner(http.MethodPut, "/organization/"+o.org+"/enforcement", settings, nil); err != nil {
		return nil, err
	}
	var list []any
	for name, class := range classes {
		list = append(list, map[string]any{"class": class, "tools": []string{strings.Replace(name, "/", ".", 1)}})
	}
	if err := s.asOwner(http.MethodPut, "/organization/"+o.org+"/tool-classes", map[string]any{"classes": list},
		nil); err != nil {
		return nil, err
	}
	return o, o.activate()
}

// activate activates a policy that allows or denies everything.
func (o *online) activate() error {
	effect := "allow"
	if o.setup.denies {
		effect = "deny"
	}
	rules := []any{map[string]any{"id": "all", "effect": effect, "tools": []string{"*"}}}
	var made struct {
		ID string `json:"id"`
	}
	in := "?organizationId=" + o.org
	if err := o.server.asOwner(http.MethodPost, "/policies"+in,
		map[string]any{"version": "v1", "name": "all", "rules": rules}, &made); err != nil {
		return err
	}
	return o.server.asOwner(http.MethodPost, "/policies/"+made.ID+"/activate"+in, map[string]any{}, nil)
}

type onlineSession struct {
	*online
	run     *run
	key     string
	session string
	plan    string // the plan's id
	token   string
	reports int
	held    string // the approval that the last call waits for
}

func (s *onlineSession) post(path string, body, answer any) error {
	return s.server.call(http.MethodPost, path, "X-API-Key", s.key, body, answer)
}

func (o *online) begin(r *run) (session, error) {
	n, key, err := o.nextRun()
	if err != nil {
		return nil, err
	}
	s := &onlineSession{online: o, run: r, key: key, session: fmt.Sprint("run-", n)}
	if !o.setup.declares(r) {
		return s, s.statePrompt()
	}
	steps := []any{}
	for _, st := range o.setup.plan(r) {
		step := map[string]any{"action": st.Tool, "mcp": r.Suite}
		params := map[string]any{}
		for name, value := range st.Args {
			if string(value) != "null" && o.setup.given {
				params[name] = value
			}
		}
		if len(params) > 0 {
			step["params"] = params
		}
		steps = append(steps, step)
	}
	plan := map[string]any{"goal": "the task", "steps": steps}
	if o.setup.may {
		may := []any{}
		for _, tool := range r.May {
			may = append(may, map[string]any{"tool": tool, "mcp": r.Suite})
		}
		plan["may"] = may
	}
	body := map[string]any{
		"plan": plan, "session_id": s.session, "agent_id": s.session, "expires_in": 86400, "prompt": "",
	}
	if o.setup.prompt {
		body["prompt"] = r.Prompt
	}
	var minted struct {
		PlanID string `json:"plan_id"`
		JWT    string `json:"jwt_token"`
	}
	err = s.post("/iap/sdk/token", body, &minted)
	s.plan, s.token = minted.PlanID, minted.JWT
	if err == nil && (s.plan == "" || s.token == "") {
		err = fmt.Errorf("the answer has no token")
	}
	return s, err
}

// statePrompt states the prompt of a session that declares no plan.
func (s *onlineSession) statePrompt() error {
	if !s.setup.prompt {
		return nil
	}
	return s.post("/iap/sdk/prompt", map[string]any{
		"session_id": s.session, "agent_id": s.session, "prompt": s.run.Prompt,
	}, nil)
}

func (s *onlineSession) decide(c *call) (answer, error) {
	body := map[string]any{
		"tool_name": c.Tool, "tool_input": c.Args, "session_id": s.session, "agent_id": s.session,
		"mcp_context": map[string]string{"server_name": s.run.Suite, "tool_name": c.Tool},
	}
	if s.token != "" {
		body["intent"] = s.token
	}
	var got struct {
		Decision   string          `json:"decision"`
		Rule       string          `json:"rule"`
		Grounding  json.RawMessage `json:"grounding"`
		ApprovalID string          `json:"approvalId"`
		DecisionID string          `json:"decisionId"`
	}
	if err := s.post("/iap/enforce", body, &got); err != nil {
		return answer{}, err
	}
	if got.Decision == "" || got.DecisionID == "" {
		return answer{}, fmt.Errorf("the answer lacks a member: %+v", got)
	}
	s.held = got.ApprovalID
	verdict := got.Decision
	if verdict == "ask" {
		verdict = "hold"
	}
	return answer{verdict, strings.TrimSpace(got.Rule + " " + string(got.Grounding))}, nil
}

func (s *onlineSession) approve(c *call) (answer, error) {
	path := "/delegation/approve?organizationId=" + s.org
	if err := s.server.asOwner(http.MethodPost, path, map[string]string{"delegationId": s.held}, nil); err != nil {
		return answer{}, err
	}
	return s.decide(c)
}

func (s *onlineSession) report(c *call) error {
	if !s.setup.outputs {
		return nil
	}
	s.reports++
	row := map[string]any{
		"tool": c.Tool, "mcp": s.run.Suite, "input": c.Args, "output": c.output, "status": "success",
		"session_id": s.session, "agent_id": s.session, "seq": s.reports, "plan_id": s.plan,
	}
	return s.post("/iap/audit", row, nil)
}
