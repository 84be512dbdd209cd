package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// enforce measures decisions over HTTP: an API key, a signed plan, a policy of
// 100 rules, and a record with its receipt that is on disk before the answer. It is
// compared with a server that decodes the same body and answers as much, and with
// OPA's own server, which decides by the same rules and records nothing. The cost of a
// shadow is measured on one server.
func (b *bench) enforce(ctx context.Context) (err error) {
	rules, err := b.writePolicies(ctx)
	if err != nil {
		return err
	}
	var contenders []contender
	var deciders []decider
	defer func() {
		for _, c := range contenders {
			err = errors.Join(err, c.target.server.stop())
		}
	}()
	for _, i := range b.installations {
		d, err := startDecider(ctx, i, rules)
		if err != nil {
			return fmt.Errorf("%s: %w", i.engine, err)
		}
		deciders = append(deciders, d)
		contenders = append(contenders, contender{name: "writd, " + i.engine, target: d.target})
	}
	peers, err := b.startPeers(ctx, deciders[0], rules)
	contenders = append(peers, contenders...)
	if err != nil {
		return err
	}
	others, err := b.race(ctx, contenders)
	if err != nil {
		return err
	}
	if err := printDecisions(os.Stdout, contenders, others); err != nil {
		return err
	}
	if err := b.measureShadow(ctx, b.installations[0], deciders[0].target.server, rules); err != nil {
		return err
	}
	var pressures []pressure
	for n, d := range deciders {
		p, err := measurePressure(ctx, b.installations[n], d)
		if err != nil {
			return err
		}
		pressures = append(pressures, p)
	}
	return printPressure(os.Stdout, pressures)
}

// race lets the contenders take turns, after each has warmed up.
func (b *bench) race(ctx context.Context, contenders []contender) (others float64, err error) {
	if err := takeTurns(ctx, contenders, 1, warmUp, b.connections); err != nil {
		return 0, err
	}
	var servers []*process
	for _, c := range contenders {
		servers = append(servers, c.target.server)
	}
	return shareOfOthers(servers, func() error {
		return takeTurns(ctx, contenders, b.rounds, b.roundLength(), b.connections)
	})
}

// policies are the same 100 rules in two languages, and the two programs that
// the module of the policy benchmark gives.
type policies struct {
	writ      []byte // our policy, as JSON
	rego      string // file
	opaServer string // program
}

// writePolicies builds what the other module gives: minutes, the first time.
func (b *bench) writePolicies(ctx context.Context) (p policies, err error) {
	if p.writ, err = output(ctx, "go", "run", "-C", "policy", ".", "-print", "writ"); err != nil {
		return policies{}, err
	}
	rego, err := output(ctx, "go", "run", "-C", "policy", ".", "-print", "rego")
	if err != nil {
		return policies{}, err
	}
	p.rego, p.opaServer = filepath.Join(b.folder, "bench.rego"), filepath.Join(b.folder, "opaserver")
	if err := os.WriteFile(p.rego, rego, 0o600); err != nil {
		return policies{}, fmt.Errorf("write the rules for OPA: %w", err)
	}
	_, err = output(ctx, "go", "build", "-C", "policy", "-o", p.opaServer, "./opaserver")
	return p, err
}

// output is what a command prints.
func output(ctx context.Context, name string, arguments ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, name, arguments...)
	command.Stderr = os.Stderr
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %v: %w", name, arguments, err)
	}
	return text, nil
}

// The call that is decided: in the middle of the rules, allowed by one of them.
const (
	calledServer = "server5"
	calledTool   = "send_money"
)

var calledArguments = map[string]any{
	"amount":   500,
	"currency": "EUR",
	"region":   "us-east",
	"path":     "/srv/report.txt",
	"note":     "rent for May, with thanks",
}

// decider is a writd whose organization has the policy and a plan.
type decider struct {
	account *account
	target  target
}

func startDecider(ctx context.Context, i installation, rules policies) (decider, error) {
	server, _, err := i.start(ctx)
	if err != nil {
		return decider{}, err
	}
	d, err := newDecider(ctx, i, server, rules)
	if err != nil {
		return decider{}, errors.Join(err, server.stop())
	}
	return d, nil
}

func newDecider(ctx context.Context, i installation, server *process, rules policies) (decider, error) {
	owner, err := signIn(ctx, i, server)
	if err != nil {
		return decider{}, err
	}
	a, err := owner.inNewOrganization(ctx, "Decisions")
	if err != nil {
		return decider{}, err
	}
	if err := a.activate(ctx, rules.writ); err != nil {
		return decider{}, err
	}
	body, err := a.call(ctx)
	if err != nil {
		return decider{}, err
	}
	answer, err := a.send(ctx, http.MethodPost, "/iap/sdk/enforce", "X-Api-Key", a.key, bytes.NewReader(body))
	if err != nil {
		return decider{}, err
	}
	begins := []byte(`{"allowed":true`)
	if !bytes.HasPrefix(answer, begins) {
		return decider{}, fmt.Errorf("the call is not allowed: %s", answer)
	}
	return decider{
		account: a,
		target: target{
			server: server, request: post(server, "/iap/sdk/enforce", a.key, body), answer: answer, begins: begins,
		},
	}, nil
}

// activate stores a policy and makes it count.
func (a *account) activate(ctx context.Context, document []byte) error {
	var made struct {
		ID            string `json:"id"`
		PolicyVersion int    `json:"policyVersion"`
	}
	if err := a.do(ctx, http.MethodPost, "/policies?organizationId="+url.QueryEscape(a.org), json.RawMessage(document),
		&made); err != nil {
		return err
	}
	return a.do(ctx, http.MethodPost, "/policies/"+made.ID+"/activate", map[string]int{"version": made.PolicyVersion},
		nil)
}

// call declares a plan and gives the body of a call that is in it, as SDKs send it.
func (a *account) call(ctx context.Context) ([]byte, error) {
	plan := calledPlan()
	request, err := json.Marshal(map[string]any{
		"user_id": "user", "agent_id": "agent", "context_id": "default", "plan": plan, "expires_in": 86_400,
	})
	if err != nil {
		return nil, err
	}
	text, err := a.send(ctx, http.MethodPost, "/iap/sdk/token", "X-Api-Key", a.key, bytes.NewReader(request))
	if err != nil {
		return nil, err
	}
	var minted map[string]any
	if err := json.Unmarshal(text, &minted); err != nil {
		return nil, fmt.Errorf("read the token: %w", err)
	}
	token := map[string]any{"plan": plan}
	for _, member := range []string{
		"plan_id", "token", "plan_hash", "merkle_root", "intent_reference", "composite_identity", "step_proofs",
	} {
		token[member] = minted[member]
	}
	return json.Marshal(map[string]any{
		"tool": calledTool, "arguments": calledArguments, "intent_token": token, "agent_id": "agent",
	})
}

// calledPlan is a plan with the call in it.
func calledPlan() map[string]any {
	return map[string]any{"goal": "pay the rent", "steps": []map[string]any{
		{
			"action":      "list_files",
			"tool":        "list_files",
			"mcp":         calledServer,
			"params":      map[string]any{},
			"description": "Call list_files on " + calledServer,
		},
		{
			"action":      calledTool,
			"tool":        calledTool,
			"mcp":         calledServer,
			"params":      map[string]any{"currency": "EUR", "amount": 500},
			"description": "Call " + calledTool + " on " + calledServer,
		},
		{
			"action":      "create_issue",
			"tool":        "create_issue",
			"mcp":         calledServer,
			"params":      map[string]any{},
			"description": "Call create_issue on " + calledServer,
		},
	}}
}

// post is a request as it goes over the wire.
func post(server *process, path, apiKey string, body []byte) []byte {
	return fmt.Appendf(nil,
		"POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: writ-bench\r\nX-Api-Key: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		path, server.address, apiKey, len(body), body)
}

// startPeers starts the floor and OPA. Those that run at an error are returned
// too, to be stopped.
func (b *bench) startPeers(ctx context.Context, like decider, rules policies) ([]contender, error) {
	floor, err := startFloor(ctx, "echo", like.target.answer)
	if err != nil {
		return nil, err
	}
	_, body, _ := bytes.Cut(like.target.request, []byte("\r\n\r\n"))
	peers := []contender{
		{
			name:   "echo, net/http",
			target: target{server: floor, request: post(floor, "/", like.account.key, body), begins: []byte(`{`)},
		},
	}
	opa, _, err := startProcess(ctx, func(port int) command {
		return command{
			program:     rules.opaServer,
			arguments:   []string{"-address", "127.0.0.1:" + strconv.Itoa(port), rules.rego},
			environment: os.Environ(),
			ready:       "/health",
		}
	})
	if err != nil {
		return peers, err
	}
	input, err := json.Marshal(map[string]any{
		"input": map[string]any{"server": calledServer, "tool": calledTool, "args": calledArguments},
	})
	peers = append(peers, contender{name: "OPA, a bare input", target: target{
		server: opa, request: post(opa, "/v1/data/bench/allow", "", input), begins: []byte(`{"result":true}`),
	}})
	return append(peers, contender{name: "OPA, the same request", target: target{
		server: opa, request: post(opa, "/v1/data/bench/planned", "", fmt.Appendf(nil, `{"input":%s}`, body)),
		begins: []byte(`{"result":true}`),
	}}), err
}

// echoFloor decodes what is sent, as any JSON handler does, and answers with a
// document of the size of a decision.
func echoFloor(document []byte) (http.Handler, error) {
	var like any
	if err := json.Unmarshal(document, &like); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			var body any
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
		}
		answer(w, like)
	}), nil
}
