package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Sizes and targets of delegations.
const (
	trustDepth     = 4
	trustRounds    = 40
	trustDecisions = 400 // of each kind in a round
	trustTarget    = "at most 1.15 x"
	enforcePath    = "/iap/sdk/enforce"
	delegatePath   = "/iap/trust/delegate"
)

// trust measures delegations: how long it takes to verify a token of depth 4 offline, beside its signatures alone, and
// what a decision under such a chain costs the server, beside one under the plan itself.
func (b *bench) trust(ctx context.Context) (err error) {
	fmt.Println()
	fmt.Println("a delegation of depth 4, verified offline: \"ratio\" is the time of all, over that of its signatures; target 1.20")
	command := exec.CommandContext(ctx, "go", "test", "-C", "..", "-run", "^$", "-bench", "VerifyBesideSignatures",
		"-count", "3", "./internal/intent/trust")
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("verify delegations: %w", err)
	}
	rules, err := b.writePolicies(ctx)
	if err != nil {
		return err
	}
	d, err := startDecider(ctx, onSQLite(b.writd, filepath.Join(b.folder, "trust")), rules)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.target.server.stop()) }()
	return measureTrust(ctx, d)
}

// held is a delegation and the key with which it is used.
type held struct {
	id, token string
	key       ed25519.PrivateKey
}

// measureTrust lets decisions under a plan and under a chain of delegations take turns.
func measureTrust(ctx context.Context, d decider) error {
	body, err := d.account.call(ctx)
	if err != nil {
		return err
	}
	h, err := d.account.delegateDeep(ctx, body)
	if err != nil {
		return err
	}
	delegated, err := json.Marshal(map[string]any{
		"tool": calledTool, "arguments": calledArguments, "intent_token": map[string]string{"plan_id": h.id},
		"agent_id": "agent",
	})
	if err != nil {
		return err
	}
	kinds := []struct {
		name  string
		body  []byte
		held  *held
		costs []float64
	}{{name: "under a plan", body: body}, {name: fmt.Sprintf("under %d delegations", trustDepth), body: delegated,
		held: &h}}
	if err := d.target.server.awaitIdle(); err != nil {
		return err
	}
	for n := range trustRounds + 1 {
		for i := range kinds {
			k := &kinds[(n+i)%len(kinds)]
			cost, err := d.costOfDecisions(ctx, k.body, k.held)
			if err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
			if n > 0 { // the first one warms up
				k.costs = append(k.costs, cost)
			}
		}
	}
	table := newTable(os.Stdout, "a decision (SQLite)", "server CPU/req", "ratio", "target")
	for i := range kinds {
		var ratios []float64
		for n := range kinds[i].costs {
			ratios = append(ratios, kinds[i].costs[n]/kinds[0].costs[n])
		}
		target := "-"
		if i > 0 {
			target = trustTarget
		}
		table.row(kinds[i].name, fmt.Sprintf("%.1f us", 1e6*median(kinds[i].costs)),
			fmt.Sprintf("%.2f x", median(ratios)), target)
	}
	return table.Flush()
}

// costOfDecisions is the server's processor time for a decision, in seconds, with all that it does because of it until
// it rests again: traces, words and outcomes follow later, in the middle of whatever comes next. Proofs are signed
// before: a client that signs between two requests lets the server fall asleep, which costs it time.
func (d decider) costOfDecisions(ctx context.Context, body []byte, h *held) (float64, error) {
	server := d.target.server
	var proofs [trustDecisions]string
	for i := range proofs {
		proofs[i] = h.proof(enforcePath, body)
	}
	before, err := server.cpu()
	if err != nil {
		return 0, err
	}
	for _, proof := range proofs {
		answer, err := d.account.sendHeld(ctx, enforcePath, body, proof)
		if err != nil {
			return 0, err
		}
		if !bytes.HasPrefix(answer, []byte(`{"allowed":true`)) {
			return 0, fmt.Errorf("the call is not allowed: %s", answer)
		}
	}
	if err := server.awaitIdle(); err != nil {
		return 0, err
	}
	after, err := server.cpu()
	return (after - before).Seconds() / trustDecisions, err
}

// delegateDeep delegates the plan of a call, and that again.
func (a *account) delegateDeep(ctx context.Context, call []byte) (h held, err error) {
	var sent struct {
		Token json.RawMessage `json:"intent_token"`
	}
	if err := json.Unmarshal(call, &sent); err != nil {
		return held{}, err
	}
	parent, by := sent.Token, (*held)(nil)
	for range trustDepth {
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			return held{}, err
		}
		body, err := json.Marshal(map[string]any{"token": parent, "delegate_public_key": hex.EncodeToString(public)})
		if err != nil {
			return held{}, err
		}
		text, err := a.sendHeld(ctx, delegatePath, body, by.proof(delegatePath, body))
		if err != nil {
			return held{}, err
		}
		var made struct {
			Delegation json.RawMessage `json:"delegation"`
		}
		var token struct {
			ID    string `json:"plan_id"`
			Token string `json:"jwt_token"`
		}
		if err := errors.Join(json.Unmarshal(text, &made), json.Unmarshal(made.Delegation, &token)); err != nil {
			return held{}, fmt.Errorf("read the delegation: %w", err)
		}
		h = held{token.ID, token.Token, private}
		parent, by = made.Delegation, &h
	}
	return h, nil
}

// sendHeld posts a body, with the proof of a delegation if there is one.
func (a *account) sendHeld(ctx context.Context, path string, body []byte, proof string) ([]byte, error) {
	headers := []string{"X-Api-Key", a.key}
	if proof != "" {
		headers = append(headers, "X-Writ-Proof", proof)
	}
	return a.sendWith(ctx, http.MethodPost, path, bytes.NewReader(body), headers...)
}

// proof is what a delegate signs for each request; without a delegation there is none.
func (h *held) proof(path string, body []byte) string {
	if h == nil {
		return ""
	}
	token, sum := sha256.Sum256([]byte(h.token)), sha256.Sum256(body)
	claims := fmt.Sprintf(`{"jti":%q,"delegation":%q,"ath":"%x","path":%q,"body":"%x","iat":%d}`, rand.Text(), h.id, token,
		path, sum, time.Now().Unix())
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"EdDSA","typ":"delegation-proof+jwt"}`)) + "." + encode([]byte(claims))
	return text + "." + encode(ed25519.Sign(h.key, []byte(text)))
}
