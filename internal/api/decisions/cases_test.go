package decisions_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"writ/internal/approval"
	"writ/internal/node"
	"writ/internal/principal"
	"writ/internal/testserver"
)

const enforcementCases = "../../../testdata/enforcement"

// The surfaces a call can be judged on, as the cases name them.
const (
	surfaceSDK        = "sdk"
	surfaceEnforce    = "enforce"
	surfaceVerifyStep = "verify-step"
)

// caseFile is a file of the corpus; its README says what the members mean.
type caseFile struct {
	About  string          `json:"about"`
	Policy json.RawMessage `json:"policy"`
	// Settings is the body of PUT /organization/{orgId}/enforcement.
	Settings json.RawMessage            `json:"settings"`
	Fresh    bool                       `json:"fresh"`
	Plans    map[string]json.RawMessage `json:"plans"`
	Cases    []goldenCase               `json:"cases"`
}

type goldenCase struct {
	Name   string                     `json:"name"`
	Plan   string                     `json:"plan"`
	Mint   string                     `json:"mint"`
	Holds  string                     `json:"holds"`
	Show   string                     `json:"show"`
	By     string                     `json:"by"`
	Before []goldenEvent              `json:"before"`
	Call   map[string]json.RawMessage `json:"call"`
	Body   *string                    `json:"body"`
	Want   goldenWant                 `json:"want"`
}

// goldenEvent is what happens before the call: one of an earlier call, a change
// of the plan's status, time that passes, or the plan declared anew.
type goldenEvent struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Plan      string          `json:"plan"`
	Status    string          `json:"status"`
	Refused   bool            `json:"refused"`
	Pass      string          `json:"pass"`
	Declare   string          `json:"declare"`
	// Answered: the call is held, and a person says yes, or no and why.
	Answered string `json:"answered"`
}

type goldenWant struct {
	Decision   string   `json:"decision"`
	SDK        string   `json:"sdk"`
	Enforce    string   `json:"enforce"`
	VerifyStep *bool    `json:"verify-step"`
	Reason     string   `json:"reason"`
	Message    string   `json:"message"`
	Rule       string   `json:"rule"`
	Policy     string   `json:"policy"`
	Never      []string `json:"never"`
}

// surfaces are those the case is asked on.
func (w goldenWant) surfaces() []string {
	var all []string
	if w.SDK != "" {
		all = append(all, surfaceSDK)
	}
	if w.Enforce != "" {
		all = append(all, surfaceEnforce)
	}
	if w.VerifyStep != nil {
		all = append(all, surfaceVerifyStep)
	}
	return all
}

// TestEnforcementCases asks a server about every case, on every surface it names.
func TestEnforcementCases(t *testing.T) {
	t.Parallel()
	files := readCaseFiles(t)
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		for name, file := range files {
			t.Run(strings.TrimSuffix(name, ".yaml"), func(t *testing.T) {
				w := newCaseEnv(t, s, file)
				for _, c := range file.Cases {
					w.run(t, c)
				}
			})
		}
	})
}

// TestEnforcementCorpus holds the corpus to its size and to being about
// something: every case wants something, and no two have one name.
func TestEnforcementCorpus(t *testing.T) {
	t.Parallel()
	cases, answers := 0, 0
	for name, file := range readCaseFiles(t) {
		seen := map[string]bool{}
		for _, c := range file.Cases {
			cases++
			answers += len(c.Want.surfaces())
			if (c.Mint == "") == (len(c.Want.surfaces()) == 0) {
				t.Errorf("%s: %s: wants neither or both of a refused plan and an answer", name, c.Name)
			}
			if c.Name == "" || seen[c.Name] {
				t.Errorf("%s: %q is the name of no case, or of two", name, c.Name)
			}
			seen[c.Name] = true
		}
	}
	if cases < 200 || answers < 550 {
		t.Errorf("%d cases with %d answers, want at least 200 with 550", cases, answers)
	}
}

func readCaseFiles(t *testing.T) map[string]*caseFile {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(enforcementCases, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*caseFile{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		root, problems := node.ReadYAML(text)
		if len(problems) > 0 {
			t.Fatalf("%s: %v", path, problems)
		}
		in := json.NewDecoder(bytes.NewReader(nodeJSON(root)))
		in.DisallowUnknownFields()
		file := new(caseFile)
		if err := in.Decode(file); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		files[filepath.Base(path)] = file
	}
	return files
}

// nodeJSON writes a tree as JSON, with every number as it was spelt.
func nodeJSON(n *node.Node) []byte {
	var b bytes.Buffer
	switch n.Kind {
	case node.Null:
		return []byte("null")
	case node.Bool, node.Number:
		return []byte(n.Text)
	case node.List:
		b.WriteByte('[')
		for i, item := range n.Items {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(nodeJSON(item))
		}
		b.WriteByte(']')
	case node.Map:
		b.WriteByte('{')
		for i, m := range n.Members {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%s:%s", quoteJSON(m.Key), nodeJSON(m.Value))
		}
		b.WriteByte('}')
	default:
		return quoteJSON(n.Text)
	}
	return b.Bytes()
}

// quoteJSON is v as JSON; everything the cases hold can be written so.
func quoteJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// run runs one case on each of its surfaces, with a plan of its own for each.
func (w *caseEnv) run(t *testing.T, c goldenCase) {
	if c.Mint != "" {
		t.Run(c.Name, func(t *testing.T) { w.begin(t).refusesPlan(c) })
	}
	for _, surface := range c.Want.surfaces() {
		t.Run(c.Name+"/"+surface, func(t *testing.T) { w.begin(t).judge(c, surface) })
	}
}

// judge makes what happens before the call happen, asks, and compares.
func (r *caseRun) judge(c goldenCase, surface string) {
	r.t.Helper()
	var held minted
	if c.Holds != "" {
		held = r.mint(c.Holds)
	}
	var own minted
	if c.Plan != "" && c.Plan != "none" {
		own = r.mint(c.Plan)
	}
	for _, event := range c.Before {
		own = r.happen(c, own, event)
	}
	body := []byte(nil)
	if c.Body != nil {
		body = []byte(*c.Body)
	} else {
		body = callBody(surface, c.Call, r.token(c.Show, own, held))
	}
	status, raw := r.post(surfacePath(surface), r.keyOf(c.By), body)
	compareAnswer(r.t, surface, c.Want, status, raw)
}

// happen makes one event happen, and gives the plan that is the call's then.
func (r *caseRun) happen(c goldenCase, own minted, e goldenEvent) minted {
	r.t.Helper()
	switch {
	case e.Pass != "":
		d, err := time.ParseDuration(e.Pass)
		if err != nil {
			r.t.Fatal(err)
		}
		r.server.Advance(d)
		r.moved = true
	case e.Declare != "":
		return r.mint(c.Plan)
	case e.Status != "":
		status, raw := r.post("/iap/plans/"+own.text("plan_id")+"/status", r.key,
			quoteJSON(map[string]string{"status": e.Status}))
		if refused := status == 403; refused != e.Refused || !refused && status/100 != 2 {
			r.t.Fatalf("status %s: %d %s", e.Status, status, raw)
		}
	default:
		r.callBefore(own, e)
	}
	return own
}

// callBefore makes an earlier call, which runs, is refused, or is held and answered.
func (r *caseRun) callBefore(plan minted, e goldenEvent) {
	r.t.Helper()
	if e.Plan != "" {
		plan = r.mint(e.Plan)
	}
	call := map[string]json.RawMessage{"tool": quoteJSON(e.Tool)}
	if e.Arguments != nil {
		call["arguments"] = e.Arguments
	}
	status, raw := r.post(surfacePath(surfaceSDK), r.key, callBody(surfaceSDK, call, r.token("", plan, nil)))
	var got sdkAnswer
	if err := json.Unmarshal(raw, &got); err != nil || status != 200 || got.Allowed == nil ||
		*got.Allowed == (e.Refused || e.Answered != "") {
		r.t.Fatalf("the call of %s before: %d %s", e.Tool, status, raw)
	}
	if e.Answered != "" {
		r.answer(got.ApprovalID, e.Answered)
	}
}

// answer has a person answer a request for approval.
func (r *caseRun) answer(request, said string) {
	r.t.Helper()
	person := principal.Principal{Kind: principal.User, UserID: r.owner.ID, OrgID: r.org, Role: principal.Owner}
	var err error
	switch word, why, _ := strings.Cut(said, ": "); word {
	case "no":
		_, err = r.server.Approvals.Reject(r.t.Context(), person, request, why)
	case "yes":
		_, err = r.server.Approvals.Approve(r.t.Context(), person, request, approval.Approval{})
	default:
		err = errors.New("nobody answers so")
	}
	if err != nil {
		r.t.Fatalf("answer %q: %v", said, err)
	}
}
