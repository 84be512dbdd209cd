package trust_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/internal/intent/plan"
	"writ/internal/intent/trust"
)

// authority is a server with an organization, which signs whatever a test wants.
type authority struct {
	trust, org ed25519.PrivateKey
	keys       trust.Published
	statement  string
}

var now = time.Unix(1_900_000_000, 0)

const orgKey = "org-key"

func newKey(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return private
}

func public(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{trust: newKey(t), org: newKey(t)}
	a.keys = trust.Published{"root": public(a.trust)}
	a.statement = must(t)(trust.Key{
		OrgID: "org", ID: orgKey, Public: hex.EncodeToString(public(a.org)), Issued: now.Unix(),
	}.Sign("root", a.trust))
	return a
}

func must(t testing.TB) func(string, error) string {
	return func(text string, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
}

func parse(t testing.TB, text string) *plan.Plan {
	t.Helper()
	p, err := plan.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const declared = `{"goal":"g","steps":[{"action":"read","mcp":"fs"},{"action":"send","mcp":"net","params":{"to":"ada"}},` +
	`{"action":"count","mcp":"fs","max_calls":3}]}`

// plan signs which plan was declared.
func (a *authority) plan(t testing.TB, change func(*trust.Plan)) string {
	t.Helper()
	p := trust.Plan{
		ID: "p", OrgID: "org", PlanHash: parse(t, declared).Tree().Root(), Issued: now.Unix(),
		Expires: now.Add(time.Hour).Unix(),
	}
	change(&p)
	return must(t)(p.Sign(orgKey, a.org))
}

// chain makes a token with links, each of which may be altered before it is signed.
func (a *authority) chain(t testing.TB, depth int, alter func(depth int, l *trust.Link)) string {
	t.Helper()
	p := parse(t, declared)
	parts := []string{a.statement, a.plan(t, func(*trust.Plan) {})}
	for d := 1; d <= depth; d++ {
		l := &trust.Link{
			ID:         fmt.Sprintf("d%d", d),
			OrgID:      "org",
			PlanID:     "p",
			ParentID:   "p",
			PlanHash:   p.Tree().Root(),
			ParentHash: trust.HashOf(parts[len(parts)-1]), Depth: d, Further: plan.MaxDelegations - d,
			Delegate: hex.EncodeToString(public(a.org)), Issued: now.Unix(), Expires: now.Add(time.Hour).Unix(),
		}
		if d > 1 {
			l.ParentID = fmt.Sprintf("d%d", d-1)
		}
		for i := range p.Steps {
			s := trust.Step{Step: p.Steps[i].Binding(false), Parent: i}
			if d == 1 {
				proof, _ := p.Tree().StepProof(i)
				s.Proof = proof.Proof
			}
			l.Steps = append(l.Steps, s)
		}
		if alter != nil {
			alter(d, l)
		}
		parts = append(parts, must(t)(l.Sign(orgKey, a.org)))
	}
	return trust.Join(parts...)
}

// binding is the one step of a plan as links have it.
func binding(t testing.TB, step string) []byte {
	t.Helper()
	p := parse(t, `{"steps":[`+step+`]}`)
	return p.Steps[0].Binding(false)
}

func TestVerify(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	for depth := 1; depth <= plan.MaxDelegations; depth++ {
		c, err := trust.Verify(a.chain(t, depth, nil), a.keys, now)
		if err != nil || len(c.Links) != depth || c.OrgID != "org" {
			t.Fatalf("depth %d: %v", depth, err)
		}
	}
	narrow := func(d int, l *trust.Link) {
		if d == 2 {
			l.Steps = []trust.Step{
				{Step: binding(t, `{"action":"read","mcp":"fs","params":{"path":"/a"},"strict":true}`), Parent: 0},
				{Step: binding(t, `{"action":"count","mcp":"fs","max_calls":1}`), Parent: 2},
			}
			l.Budget, l.Expires = 5, now.Add(time.Minute).Unix()
		}
	}
	if _, err := trust.Verify(a.chain(t, 2, narrow), a.keys, now); err != nil {
		t.Errorf("narrower in every respect: %v", err)
	}
}

// TestVerifyRefuses: each of these is signed with the right keys, as if the server itself were wrong.
func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	at := func(depth int, alter func(*trust.Link)) string {
		return a.chain(t, 3, func(d int, l *trust.Link) {
			if d == depth {
				alter(l)
			}
		})
	}
	step := func(text string, parent int) func(*trust.Link) {
		return func(l *trust.Link) { l.Steps = []trust.Step{{Step: binding(t, text), Parent: parent}} }
	}
	good := trust.Parts(a.chain(t, 3, nil))
	other := trust.Parts(newAuthority(t).chain(t, 3, nil))
	for name, token := range map[string]string{
		"another tool":          at(2, step(`{"action":"write","mcp":"fs"}`, 0)),
		"another server":        at(2, step(`{"action":"read","mcp":"net"}`, 0)),
		"a freed argument":      at(2, step(`{"action":"send","mcp":"net"}`, 1)),
		"another argument":      at(2, step(`{"action":"send","mcp":"net","params":{"to":"eve"}}`, 1)),
		"more calls":            at(2, step(`{"action":"count","mcp":"fs","max_calls":4}`, 2)),
		"any number of calls":   at(2, step(`{"action":"count","mcp":"fs"}`, 2)),
		"no such parent's step": at(2, step(`{"action":"read","mcp":"fs"}`, 7)),
		"a negative step":       at(2, step(`{"action":"read","mcp":"fs"}`, -1)),
		"a step not in the plan": at(1, func(l *trust.Link) {
			l.Steps[0].From = binding(t, `{"action":"write","mcp":"fs"}`)
			l.Steps[0].Step = l.Steps[0].From
		}),
		"another step's proof": at(1, func(l *trust.Link) { l.Steps[0].Proof = l.Steps[1].Proof }),
		"no steps":             at(2, func(l *trust.Link) { l.Steps = nil }),
		"another spelling":     at(2, func(l *trust.Link) { l.Steps[0].Step = []byte(`{"tool":"read"}`) }),
		"re-parented":          at(3, func(l *trust.Link) { l.ParentHash = trust.HashOf(good[1]) }),
		"another parent's id":  at(3, func(l *trust.Link) { l.ParentID = "d1" }),
		"another plan":         at(3, func(l *trust.Link) { l.PlanID = "q" }),
		"another organization": at(3, func(l *trust.Link) { l.OrgID = "else" }),
		"its own parent":       at(3, func(l *trust.Link) { l.ID = "d2" }),
		"a cycle":              at(3, func(l *trust.Link) { l.ID = "d1" }),
		"too deep":             at(3, func(l *trust.Link) { l.Further = plan.MaxDelegations }),
		"another depth":        at(3, func(l *trust.Link) { l.Depth = 2 }),
		"outlives its parent":  at(3, func(l *trust.Link) { l.Expires++ }),
		"before its parent":    at(3, func(l *trust.Link) { l.Issued-- }),
		"expired":              at(3, func(l *trust.Link) { l.Expires = now.Unix() }),
		"from the future": at(3, func(l *trust.Link) {
			l.Issued = now.Add(trust.ClockSkew + time.Second).Unix()
		}),
		"more calls in all": a.chain(t, 3, func(d int, l *trust.Link) { l.Budget = int64(d) }),
		"no delegate":       at(3, func(l *trust.Link) { l.Delegate = "ab" }),
		"a link left out":   trust.Join(good[0], good[1], good[2], good[4]),
		"a link twice":      trust.Join(append(good, good[4])...),
		"another's key":     trust.Join(append([]string{other[0]}, good[1:]...)...),
		"another's plan":    trust.Join(good[0], other[1], good[2]),
		"another's link":    trust.Join(good[0], good[1], other[2]),
		"no link":           trust.Join(good[0], good[1]),
		"nine deep":         a.chain(t, plan.MaxDelegations+1, nil),
		"nothing":           "", "long": strings.Repeat("~", trust.MaxBytes+1), "dots": "a.b.c~d~e.f.g",
	} {
		if _, err := trust.Verify(token, a.keys, now); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := trust.Verify(trust.Join(good...), trust.Published{}, now); err == nil {
		t.Error("without a published key: accepted")
	}
	for _, when := range []time.Time{now.Add(time.Hour), now.Add(-time.Hour)} {
		if _, err := trust.Verify(trust.Join(good...), a.keys, when); err == nil {
			t.Errorf("at %s: accepted", when)
		}
	}
}

// TestPlansAreStated: a link hangs on a statement that the organization signed about its own plan, and on no other.
func TestPlansAreStated(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	token := func(text string) string {
		link := a.chain(t, 1, func(_ int, l *trust.Link) { l.ParentHash = trust.HashOf(text) })
		return trust.Join(a.statement, text, trust.Parts(link)[2])
	}
	if c, err := trust.Verify(token(a.plan(t, func(*trust.Plan) {})), a.keys, now); err != nil || c.Plan.ID != "p" {
		t.Fatalf("as it is: %v", err)
	}
	for name, change := range map[string]func(*trust.Plan){
		"of another id":           func(p *trust.Plan) { p.ID = "q" },
		"without an id":           func(p *trust.Plan) { p.ID = "" },
		"without a hash":          func(p *trust.Plan) { p.PlanHash = "" },
		"of another hash":         func(p *trust.Plan) { p.PlanHash = strings.Repeat("0", 64) },
		"of another organization": func(p *trust.Plan) { p.OrgID = "else" },
		"that ends earlier":       func(p *trust.Plan) { p.Expires-- },
		"that begins later":       func(p *trust.Plan) { p.Issued++ },
		"that has ended":          func(p *trust.Plan) { p.Expires = now.Unix() },
	} {
		if _, err := trust.Verify(token(a.plan(t, change)), a.keys, now); err == nil {
			t.Errorf("a plan %s: accepted", name)
		}
	}
	other := newAuthority(t)
	if _, err := trust.Verify(token(other.plan(t, func(*trust.Plan) {})), a.keys, now); err == nil {
		t.Error("a plan that another organization signed: accepted")
	}
	if _, err := trust.Verify(token(a.statement), a.keys, now); err == nil {
		t.Error("a statement of another kind: accepted")
	}
}

func TestAnchorsAreLinked(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	p := parse(t, declared)
	base := trust.Parts(a.chain(t, 1, nil))
	anchor := func(change func(*trust.Anchor)) string {
		made := trust.Anchor{
			ID:     "a",
			OrgID:  "org",
			PlanID: "p",
			Number: 2,
			From:   p.Tree().Root(),
			To:     p.Tree().Root(),
			Issued: now.Unix(),
		}
		change(&made)
		return must(t)(made.Sign(orgKey, a.org))
	}
	token := func(text string) string {
		link := a.chain(t, 1, func(_ int, l *trust.Link) { l.ParentHash = trust.HashOf(text) })
		return trust.Join(base[0], base[1], text, trust.Parts(link)[2])
	}
	if c, err := trust.Verify(token(anchor(func(*trust.Anchor) {})), a.keys, now); err != nil || len(c.Anchors) != 1 {
		t.Errorf("anchored: %v", err)
	}
	for name, change := range map[string]func(*trust.Anchor){
		"from another plan":       func(a *trust.Anchor) { a.From = "x" },
		"to another plan":         func(a *trust.Anchor) { a.To = "x" },
		"of another number":       func(a *trust.Anchor) { a.Number = 3 },
		"of another plan":         func(a *trust.Anchor) { a.PlanID = "q" },
		"of another organization": func(a *trust.Anchor) { a.OrgID = "x" },
		"after another":           func(a *trust.Anchor) { a.Previous = "x" },
	} {
		if _, err := trust.Verify(token(anchor(change)), a.keys, now); err == nil {
			t.Errorf("an anchor %s: accepted", name)
		}
	}
}

func TestPublicKey(t *testing.T) {
	t.Parallel()
	key := public(newKey(t))
	for _, text := range []string{hex.EncodeToString(key), strings.ToUpper(hex.EncodeToString(key)),
		" " + hex.EncodeToString(key)} {
		if got, ok := trust.PublicKey(text); !ok || !got.Equal(key) {
			t.Errorf("%s is not read", text)
		}
	}
	for _, text := range []string{"", "ab", strings.Repeat("a", 4096), "-----BEGIN PUBLIC KEY-----"} {
		if _, ok := trust.PublicKey(text); ok {
			t.Errorf("%.20q is read", text)
		}
	}
}

// TestStatedKey: a key may come as programs export it. What is signed names the key itself, in one form.
func TestStatedKey(t *testing.T) {
	t.Parallel()
	key := public(newKey(t))
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := x509.MarshalPKIXPublicKey(other.Public())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		hex.EncodeToString(key), hex.EncodeToString(der), " " + strings.ToUpper(hex.EncodeToString(der)) + "\n",
		base64.StdEncoding.EncodeToString(der), base64.RawURLEncoding.EncodeToString(der),
	} {
		if got, ok := trust.StatedKey(text); !ok || !got.Equal(key) {
			t.Errorf("%s is not read", text)
		}
	}
	if _, ok := trust.PublicKey(hex.EncodeToString(der)); ok {
		t.Error("a part names its key in two forms")
	}
	for _, raw := range [][]byte{{}, key[:31], der[:43], append(der, 0), foreign, append(der[:12], der...)} {
		if _, ok := trust.StatedKey(hex.EncodeToString(raw)); ok {
			t.Errorf("%x is read", raw)
		}
	}
}

// FuzzVerify: whatever is sent, nothing panics, and only what the authority signed is accepted.
func FuzzVerify(f *testing.F) {
	a := newAuthority(f)
	token := a.chain(f, 2, nil)
	f.Add(token)
	f.Add("a.b.c~d.e.f~g.h.i")
	f.Add(proofOf(`{"typ":"delegation-proof+jwt", "alg":"EdDSA"}`, claims, newKey(f)))
	f.Add(proofOf(`{"alg":"none","alg":"EdDSA","typ":"delegation-proof+jwt","kid":{}}`, claims, newKey(f)))
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := trust.Verify(text, a.keys, now); err == nil && text != token {
			t.Errorf("accepted: %q", text)
		}
		if p, err := trust.ReadProof(text); (p == nil) == (err == nil) {
			t.Errorf("read as %v, %v", p, err)
		}
	})
}

// BenchmarkVerifyBesideSignatures verifies a token of depth 4, and its signatures alone, in turns: what slows the
// machine slows both. The ratio is that of the medians.
func BenchmarkVerifyBesideSignatures(b *testing.B) {
	a := newAuthority(b)
	token := a.chain(b, 4, nil)
	var texts, signatures [][]byte
	for _, part := range trust.Parts(token) {
		texts = append(texts, []byte(part))
		signatures = append(signatures, ed25519.Sign(a.org, []byte(part)))
	}
	var whole, alone []time.Duration
	for b.Loop() {
		began := time.Now()
		for i := range texts {
			if !ed25519.Verify(public(a.org), texts[i], signatures[i]) {
				b.Fatal("not verified")
			}
		}
		between := time.Now()
		if _, err := trust.Verify(token, a.keys, now); err != nil {
			b.Fatal(err)
		}
		alone, whole = append(alone, between.Sub(began)), append(whole, time.Since(between))
	}
	slices.Sort(alone)
	slices.Sort(whole)
	b.ReportMetric(float64(whole[len(whole)/2])/float64(alone[len(alone)/2]), "ratio")
	b.ReportMetric(float64(alone[len(alone)/2])/1e3, "us/signatures")
	b.ReportMetric(float64(whole[len(whole)/2])/1e3, "us/verified")
}
