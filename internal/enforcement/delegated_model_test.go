package enforcement_test

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"writ/internal/enforcement"
	"writ/internal/intent"
	"writ/internal/intent/plan"
	"writ/internal/intent/trust"
	"writ/internal/principal"
)

// modelStep is a step as the model of the test sees it: a tool, and the value of its one argument; empty: any.
type modelStep struct {
	tool, value string
	max         int // calls; 0: any number
	agreed      bool
}

func (s modelStep) fits(tool, value string) bool {
	return s.tool == tool && (s.value == "" || s.value == value)
}

// covers is the rule of narrowing, written down once more.
func (s modelStep) covers(o modelStep) bool {
	return s.agreed && s.tool == o.tool && (s.value == "" || s.value == o.value) && (s.max == 0 || o.max > 0 &&
		o.max <= s.max)
}

// modelLink is a plan or delegation in the model.
type modelLink struct {
	parent  *modelLink
	steps   []modelStep
	used    []int
	ended   bool
	expires time.Time
	budget  int // 0: any number
	spent   int
	key     principal.Principal
	shown   plan.Presented
	id      string
	token   string
	private ed25519.PrivateKey
}

// path is the link and all that it came from.
func (l *modelLink) path() (path []*modelLink) {
	for ; l != nil; l = l.parent {
		path = append(path, l)
	}
	return path
}

func (l *modelLink) lives(now time.Time) bool {
	return !slices.ContainsFunc(l.path(), func(a *modelLink) bool { return a.ended || !now.Before(a.expires) })
}

// take reports whether every ancestor permits the call at this moment, and counts it if so.
func (l *modelLink) take(tool, value string, now time.Time) bool {
	if !l.lives(now) {
		return false
	}
	var chosen []int
	for _, a := range l.path() {
		best := -1
		for i, s := range a.steps {
			left := s.max == 0 || a.used[i] < s.max
			if s.agreed && s.fits(tool, value) && left && (best < 0 || s.max == 0 && a.steps[best].max > 0) {
				best = i
			}
		}
		if best < 0 || a.budget > 0 && a.spent >= a.budget {
			return false
		}
		chosen = append(chosen, best)
	}
	for n, a := range l.path() {
		a.used[chosen[n]]++
		a.spent++
	}
	return true
}

var (
	modelTools  = []string{"read", "write", "send"}
	modelValues = []string{"", "a", "b"}
)

func drawSteps(t *rapid.T) []modelStep {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) modelStep {
		return modelStep{
			tool: rapid.SampledFrom(modelTools).Draw(t, "tool"), value: rapid.SampledFrom(modelValues).Draw(t, "value"),
			max: rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "max"), agreed: true,
		}
	}), 1, 4).Draw(t, "steps")
}

// drawFrom draws steps that mostly narrow others: those of independent plans seldom cover each other.
func drawFrom(t *rapid.T, steps []modelStep) []modelStep {
	if rapid.IntRange(0, 5).Draw(t, "free") == 0 {
		return drawSteps(t)
	}
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) modelStep {
		s := rapid.SampledFrom(steps).Draw(t, "from")
		if s.value == "" && rapid.IntRange(0, 3).Draw(t, "fix") == 0 {
			s.value = "a"
		}
		if s.max == 0 && rapid.IntRange(0, 4).Draw(t, "limit") == 0 {
			s.max = 2
		}
		s.agreed = true
		return s
	}), 1, 4).Draw(t, "narrowed")
}

func modelPlan(steps []modelStep) []byte {
	list := []map[string]any{}
	for _, s := range steps {
		step := map[string]any{"action": s.tool, "mcp": "fs"}
		if s.value != "" {
			step["params"] = map[string]any{"v": s.value}
		}
		if s.max > 0 {
			step["max_calls"] = s.max
		}
		list = append(list, step)
	}
	text, err := json.Marshal(map[string]any{"goal": "g", "steps": list})
	if err != nil {
		panic(err) // it is of texts
	}
	return text
}

// tree is a plan and its delegations, in the model and in the server.
type tree struct {
	e     *env
	keys  []principal.Principal
	links []*modelLink
}

// TestNoDescendantIsAllowedWhatAnAncestorIsNot: whatever is delegated, re-anchored, revoked or ended, and however time
// passes, a call under a delegation is allowed exactly if every plan above it permits it at that moment. The model and
// the check of tokens share no code with the server.
func TestNoDescendantIsAllowedWhatAnAncestorIsNot(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		e.active("all", allowAll)
		keys := []principal.Principal{e.agent, e.other, e.key(e.ada, e.acme)}
		rapid.Check(t, func(r *rapid.T) {
			tr := &tree{e: e, keys: keys}
			tr.declare(r)
			for range rapid.IntRange(4, 20).Draw(r, "actions") {
				switch rapid.SampledFrom([]string{
					"delegate", "delegate", "call", "call", "call", "reanchor", "revoke", "wait", "end",
				}).Draw(r, "action") {
				case "delegate":
					tr.delegate(r)
				case "call":
					tr.call(r)
				case "reanchor":
					tr.reanchor(r)
				case "revoke":
					tr.revoke(r)
				case "wait":
					e.Pass(time.Duration(rapid.IntRange(1, 200).Draw(r, "seconds")) * time.Second)
				case "end":
					tr.end(r)
				}
			}
			for range 6 {
				tr.call(r)
			}
		})
	})
}

func (tr *tree) declare(r *rapid.T) {
	steps := drawSteps(r)
	life := 600.0
	m, err := tr.e.plans.Mint(tr.e.T.Context(), tr.e.agent, intent.Request{Plan: modelPlan(steps), ExpiresIn: &life})
	if err != nil {
		r.Fatalf("mint: %v", err)
	}
	tr.links = []*modelLink{{
		steps: steps, used: make([]int, len(steps)), key: tr.e.agent, id: m.PlanID,
		expires: time.Unix(m.Token.ExpiresAt, 0),
		shown:   plan.Presented{PlanID: m.PlanID, PlanHash: m.PlanHash, Signature: m.Token.Signature},
	}}
}

// any is a link, more often one of the latest.
func (tr *tree) any(r *rapid.T) *modelLink {
	n := rapid.IntRange(0, 2*len(tr.links)-1).Draw(r, "link")
	return tr.links[max(0, len(tr.links)-1-n/2)]
}

func (tr *tree) delegate(r *rapid.T) {
	e, parent := tr.e, tr.any(r)
	steps := drawFrom(r, parent.steps)
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		r.Fatal(err)
	}
	life := float64(rapid.IntRange(30, 900).Draw(r, "life"))
	asked := intent.DelegateRequest{
		Parent: parent.shown, Delegate: hex.EncodeToString(public), Plan: modelPlan(steps), ExpiresIn: &life,
		Budget: int64(rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(r, "budget")),
	}
	if parent.parent != nil {
		asked.Sent = trust.RequestOf("/iap/trust/delegate", []byte("body"))
		asked.Held = proofOf(r, parent, asked.Sent, e.Now())
	}
	by := tr.keys[0]
	if parent.parent != nil {
		by = rapid.SampledFrom(tr.keys).Draw(r, "key")
	}
	made, err := e.plans.Delegate(e.T.Context(), by, asked)
	may := parent.lives(e.Now()) && (parent.budget == 0 || asked.Budget <= int64(parent.budget)) &&
		len(parent.path()) <= 8
	for _, s := range steps {
		may = may && slices.ContainsFunc(parent.steps, func(p modelStep) bool { return p.covers(s) })
	}
	if (err == nil) != may {
		r.Fatalf("delegate %+v of %+v: %v, want success: %t", steps, parent.steps, err, may)
	}
	if err != nil {
		return
	}
	child := &modelLink{
		parent:  parent,
		steps:   steps,
		used:    make([]int, len(steps)),
		key:     by,
		id:      made.ID,
		token:   made.Token,
		expires: made.ExpiresAt, budget: int(made.Budget), private: private,
		shown: plan.Presented{PlanID: made.ID, JWT: made.Token},
	}
	tr.links = append(tr.links, child)
	tr.checkToken(r, child)
}

func proofOf(r *rapid.T, l *modelLink, sent trust.Request, now time.Time) *trust.Proof {
	text, err := trust.Prove(l.id, l.token, sent, now, l.private)
	if err != nil {
		r.Fatal(err)
	}
	proof, err := trust.ReadProof(text)
	if err != nil {
		r.Fatal(err)
	}
	return proof
}

func (tr *tree) call(r *rapid.T) {
	l := tr.any(r)
	tool := rapid.SampledFrom(modelTools).Draw(r, "tool")
	value := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "value")
	if own := rapid.SampledFrom(l.steps).Draw(r, "own"); rapid.IntRange(0, 4).Draw(r, "any") > 0 {
		tool, value = own.tool, cmp.Or(own.value, value)
	}
	request := enforcement.Request{
		Server:        "fs",
		Tool:          tool,
		Arguments:     []byte(`{"v":"` + value + `"}`),
		Presented:     l.shown,
		TokenRequired: true,
		Sent:          trust.RequestOf("/iap/sdk/enforce", []byte(value)),
	}
	by := l.key
	if l.parent != nil {
		request.Held = proofOf(r, l, request.Sent, tr.e.Now())
		by = rapid.SampledFrom(tr.keys).Draw(r, "key")
	}
	got := tr.e.decisions.Decide(tr.e.T.Context(), by, request)
	if may := l.take(tool, value, tr.e.Now()); got.Allowed() != may {
		r.Fatalf("%s(%s) at depth %d: %s %s (%s), want allowed: %t\n%+v", tool, value, len(l.path())-1, got.Verdict,
			got.Reason, got.Rule, may, l.path())
	}
}

// reanchor re-anchors the declared plan. The model has no counted steps that go on, so that it drops what it cannot
// say.
func (tr *tree) reanchor(r *rapid.T) {
	root := tr.links[0]
	steps := drawFrom(r, root.steps)
	used := make([]int, len(steps))
	taken := map[int]bool{}
	for i := range steps {
		steps[i].agreed = false
		for j, before := range root.steps {
			if !(before.max > 0 && taken[j]) && before.covers(modelStep{steps[i].tool, steps[i].value, steps[i].max,
				true}) {
				steps[i].agreed = true
				if before.max > 0 {
					taken[j], used[i] = true, root.used[j]
				}
				break
			}
		}
	}
	_, err := tr.e.plans.Reanchor(tr.e.T.Context(), root.key, intent.ReanchorRequest{
		PlanID: root.id, Plan: modelPlan(steps), Widening: intent.HoldWidening,
	})
	if (err == nil) != root.lives(tr.e.Now()) {
		r.Fatalf("re-anchor: %v", err)
	}
	if err == nil && string(modelPlan(steps)) != string(modelPlan(root.steps)) {
		root.steps, root.used = steps, used
	}
}

func (tr *tree) revoke(r *rapid.T) {
	l := tr.any(r)
	cascade := rapid.Bool().Draw(r, "cascade")
	done, err := tr.e.plans.Revoke(tr.e.T.Context(), tr.e.agent, intent.RevokeRequest{
		Token: l.shown, Reason: "r", Cascade: cascade,
	})
	if err != nil {
		r.Fatalf("revoke: %v", err)
	}
	l.ended = true
	for _, other := range tr.links {
		if cascade && slices.Contains(done.Cascaded, other.id) && !slices.Contains(other.path(), l) {
			r.Fatalf("a delegation was revoked with one that it did not come from")
		}
	}
}

func (tr *tree) end(r *rapid.T) {
	if rapid.IntRange(0, 3).Draw(r, "really") > 0 || !tr.links[0].lives(tr.e.Now()) {
		return
	}
	if _, err := tr.e.plans.SetStatus(tr.e.T.Context(), tr.e.agent, tr.links[0].id, plan.Completed); err != nil {
		r.Fatalf("end: %v", err)
	}
	tr.links[0].ended = true
}

// checkToken verifies a token as a stranger would from the documentation, with the standard library and the published
// keys, and has our own verifier say the same of the token and of one that was altered.
func (tr *tree) checkToken(r *rapid.T, l *modelLink) {
	keys := map[string]ed25519.PublicKey{}
	ours := trust.Published{}
	published, err := tr.e.plans.PublicKeys(tr.e.T.Context())
	if err != nil {
		r.Fatal(err)
	}
	for _, k := range published {
		if k.Purpose == intent.TrustKey {
			keys[k.ID], ours[k.ID] = k.Public, k.Public
		}
	}
	if problem := strangersCheck(l.token, keys, tr.e.Now().Unix()); problem != "" {
		r.Fatalf("a stranger refuses the token: %s", problem)
	}
	if c, err := trust.Verify(l.token, ours, tr.e.Now()); err != nil || c.Last().ID != l.id {
		r.Fatalf("we refuse the token: %v", err)
	}
	at := rapid.IntRange(0, len(l.token)-1).Draw(r, "altered")
	altered := []byte(l.token)
	altered[at] = "AZaz09-_.~"[rapid.IntRange(0, 9).Draw(r, "to")]
	if string(altered) == l.token {
		return
	}
	if _, err := trust.Verify(string(altered), ours, tr.e.Now()); err == nil {
		r.Fatalf("an altered token is accepted: byte %d", at)
	}
	if problem := strangersCheck(string(altered), keys, tr.e.Now().Unix()); problem == "" {
		r.Fatalf("a stranger accepts an altered token: byte %d", at)
	}
}

type object = map[string]any

// strangersCheck says what is wrong with a token; empty: nothing is.
func strangersCheck(token string, keys map[string]ed25519.PublicKey, now int64) string {
	parts := strings.Split(token, "~")
	if len(parts) < 3 {
		return "too few parts"
	}
	head, key, ok := jws(parts[0], func(h object) ed25519.PublicKey { return keys[fmt.Sprint(h["kid"])] })
	if !ok || head["typ"] != "trust-key+jwt" {
		return "the organization's key"
	}
	public, err := hex.DecodeString(fmt.Sprint(key["key"]))
	if err != nil || len(public) != ed25519.PublicKeySize {
		return "the organization's key is none"
	}
	ofOrg := func(h object) ed25519.PublicKey {
		if h["kid"] == key["jti"] {
			return public
		}
		return nil
	}
	head, declared, ok := jws(parts[1], ofOrg)
	if !ok || head["typ"] != "declared-plan+jwt" || declared["org"] != key["org"] {
		return "the plan"
	}
	hash, before := fmt.Sprint(declared["plan_hash"]), parts[1]
	parent := object{"exp": declared["exp"], "iat": declared["iat"], "further": 8.0, "budget": 0.0}
	var above []object
	depth := 0
	for _, part := range parts[2:] {
		head, claims, ok := jws(part, ofOrg)
		if !ok || claims["org"] != key["org"] || claims["plan_id"] != declared["jti"] {
			return "a part is not the organization's, or of another plan"
		}
		if head["typ"] == "anchor+jwt" && depth == 0 {
			if claims["from_hash"] != hash {
				return "an anchor of another plan"
			}
			hash, before = fmt.Sprint(claims["to_hash"]), part
			continue
		}
		depth++
		sum := sha256.Sum256([]byte(before))
		budget, _ := claims["budget"].(float64)
		most, _ := parent["budget"].(float64)
		switch {
		case head["typ"] != "delegation+jwt" || claims["parent_hash"] != hex.EncodeToString(sum[:]):
			return "a link that hangs on nothing"
		case claims["depth"].(float64) != float64(depth) || claims["further"].(float64) >= parent["further"].(float64):
			return "too deep"
		case claims["exp"].(float64) > parent["exp"].(float64) || claims["exp"].(float64) <= float64(now):
			return "outlives its parent"
		case most > 0 && (budget == 0 || budget > most):
			return "more calls"
		}
		var problem string
		if above, problem = stepsWithin(claims, above, hash, depth); problem != "" {
			return problem
		}
		parent, before = claims, part
	}
	if depth == 0 {
		return "no link"
	}
	return ""
}

// stepsWithin checks the steps of a link against those of its parent, or of the plan.
func stepsWithin(claims object, above []object, hash string, depth int) (own []object, problem string) {
	for _, s := range claims["steps"].([]any) {
		entry := s.(object)
		step, at := entry["step"].(object), int(entry["parent"].(float64))
		var by object
		if depth == 1 {
			by = step
			if from, ok := entry["from"].(object); ok {
				by = from
			}
			if !provedIn(hash, fmt.Sprintf("/steps/[%d]", at), by, entry["proof"]) {
				return nil, "a step that the plan does not have"
			}
		} else if at < 0 || at >= len(above) {
			return nil, "a step of no parent"
		} else {
			by = above[at]
		}
		most, calls := by["max_calls"].(float64), step["max_calls"].(float64)
		if by["mcp"] != step["mcp"] || by["tool"] != step["tool"] || most > 0 && (calls == 0 || calls > most) {
			return nil, "a step that its parent does not cover"
		}
		for name, value := range by["arguments"].(object) {
			if step["arguments"].(object)[name] != value {
				return nil, "an argument that its parent fixes"
			}
		}
		own = append(own, step)
	}
	return own, ""
}

// jws verifies a signed part with the key that its header asks for.
func jws(part string, keyOf func(head object) ed25519.PublicKey) (head, claims object, ok bool) {
	pieces := strings.Split(part, ".")
	if len(pieces) != 3 {
		return nil, nil, false
	}
	var raw [3][]byte
	for i, piece := range pieces {
		var err error
		if raw[i], err = base64.RawURLEncoding.Strict().DecodeString(piece); err != nil {
			return nil, nil, false
		}
	}
	if json.Unmarshal(raw[0], &head) != nil || json.Unmarshal(raw[1], &claims) != nil || head["alg"] != "EdDSA" {
		return nil, nil, false
	}
	key := keyOf(head)
	return head, claims, len(key) == ed25519.PublicKeySize && ed25519.Verify(key, []byte(pieces[0]+"."+pieces[1]),
		raw[2])
}

// provedIn folds a proof as RFC 6962 has it.
func provedIn(root, path string, value object, proof any) bool {
	text, err := json.Marshal(value)
	if err != nil {
		return false
	}
	digest := sha256.Sum256(text)
	leaf, err := json.Marshal(object{"path": path, "digest": hex.EncodeToString(digest[:])})
	if err != nil {
		return false
	}
	hash := sha256.Sum256(append([]byte{0}, leaf...))
	list, _ := proof.([]any)
	for _, item := range list {
		sibling, err := hex.DecodeString(fmt.Sprint(item.(object)["sibling_hash"]))
		if err != nil {
			return false
		}
		if item.(object)["position"] == "left" {
			hash = sha256.Sum256(bytes.Join([][]byte{{1}, sibling, hash[:]}, nil))
		} else {
			hash = sha256.Sum256(bytes.Join([][]byte{{1}, hash[:], sibling}, nil))
		}
	}
	return hex.EncodeToString(hash[:]) == root
}
