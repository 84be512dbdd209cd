package plan_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/golang-jwt/jwt/v5"
	"pgregory.net/rapid"

	"writ/internal/intent/plan"
)

// What follows is a second implementation of the token's canonical JSON and
// signature and of RFC 6962, with the standard library alone. It is what a
// stranger would write from the documentation, and shares nothing with ours.

func canonicalString(text string) []byte {
	var b bytes.Buffer
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case strings.ContainsRune("\b\t\n\f\r", r):
			b.WriteString(map[rune]string{'\b': `\b`, '\t': `\t`, '\n': `\n`, '\f': `\f`, '\r': `\r`}[r])
		case r >= ' ' && r <= '~':
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	b.WriteByte('"')
	return b.Bytes()
}

func canonicalJSON(v any) []byte {
	var b bytes.Buffer
	switch v := v.(type) {
	case string:
		return canonicalString(v)
	case json.Number:
		return []byte(v)
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(canonicalJSON(item))
		}
		b.WriteByte(']')
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		b.WriteByte('{')
		for i, key := range keys {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(canonicalString(key))
			b.WriteByte(':')
			b.Write(canonicalJSON(v[key]))
		}
		b.WriteByte('}')
	default:
		text, _ := json.Marshal(v)
		return text
	}
	return b.Bytes()
}

func decode(t testing.TB, raw []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("decode %s: %v", raw, err)
	}
	return v
}

// verifiesLikeAClient is the check of the published SDKs.
func verifiesLikeAClient(t testing.TB, token []byte) bool {
	t.Helper()
	v := decode(t, token)
	signed := map[string]any{}
	for _, name := range []string{
		"plan_hash", "issued_at", "expires_at", "policy", "identity", "public_key", "version",
	} {
		value, ok := v[name]
		if !ok {
			return false
		}
		signed[name] = value
	}
	key, err1 := hex.DecodeString(v["public_key"].(string))
	signature, err2 := hex.DecodeString(v["signature"].(string))
	return err1 == nil && err2 == nil && len(key) == 32 && ed25519.Verify(key, canonicalJSON(signed), signature)
}

func digestOfJSON(text string) string {
	sum := sha256.Sum256(canonicalString(text))
	return hex.EncodeToString(sum[:])
}

// foldsToRoot checks a proof as RFC 6962 has it: 0x00 before a leaf, 0x01
// before a node.
func foldsToRoot(t testing.TB, root, path, digest string, proof []byte) bool {
	t.Helper()
	var siblings []struct {
		Position    string `json:"position"`
		SiblingHash string `json:"sibling_hash"`
	}
	if err := json.Unmarshal(proof, &siblings); err != nil {
		t.Fatalf("proof %s: %v", proof, err)
	}
	leaf := canonicalJSON(map[string]any{"path": path, "digest": digest})
	hash := sha256.Sum256(append([]byte{0}, leaf...))
	for _, s := range siblings {
		sibling, err := hex.DecodeString(s.SiblingHash)
		if err != nil {
			return false
		}
		if s.Position == "left" {
			hash = sha256.Sum256(slices.Concat([]byte{1}, sibling, hash[:]))
		} else {
			hash = sha256.Sum256(slices.Concat([]byte{1}, hash[:], sibling))
		}
	}
	return hex.EncodeToString(hash[:]) == root
}

// rfc6962 is the tree hash by its definition: split at the largest power of two.
func rfc6962(leaves [][]byte) []byte {
	if len(leaves) == 1 {
		hash := sha256.Sum256(append([]byte{0}, leaves[0]...))
		return hash[:]
	}
	k := 1
	for k*2 < len(leaves) {
		k *= 2
	}
	hash := sha256.Sum256(slices.Concat([]byte{1}, rfc6962(leaves[:k]), rfc6962(leaves[k:])))
	return hash[:]
}

func TestVectorsOfThePublishedClients(t *testing.T) {
	t.Parallel()
	token := []byte(`{"plan_hash":"abc123","issued_at":1700000000.5,"expires_at":1700000060.5,
		"policy":{"allowed_tools":["search","r\u00e9ad"],"deny":[]},"identity":"agent@armoriq.io","version":"1.0",
		"public_key":"e23dbe8dbb842eef51a8d7dba01019814e5e6eaa29936fe5aca3570b78bbd5f8",
		"signature":"61c5a5169165d208fa3486b72262b5f0f9ae3c1f473379f9d6b729c2a3d6eb6c244caf14814b3e81930fed867f4f832eed5421ecd6db525428c92416b9818307"}`)
	if err := plan.VerifySignature(token); err != nil {
		t.Errorf("the published vector: %v", err)
	}
	if !verifiesLikeAClient(t, token) {
		t.Error("the verifier of this test does not accept the published vector")
	}
	for _, change := range [][2]string{
		{"abc123", "abc124"}, {"1700000060.5", "1700000061.5"}, {"search", "search2"},
		{`"version":"1.0"`, `"version":"1.1"`},
		{"agent@", "agent2@"}, {"61c5a5", "61c5a6"}, {"e23dbe", "e23dbf"}, {`"plan_hash"`, `"other"`},
	} {
		altered := bytes.Replace(token, []byte(change[0]), []byte(change[1]), 1)
		if err := plan.VerifySignature(altered); err == nil {
			t.Errorf("altered (%s) and still accepted", change[0])
		}
	}
	if got := plan.DigestOf([]byte(`"noop"`)); got != "a48838a5da63ab6652e7925667e233cbe0bbc1d60c5516137773ffc361c15485" {
		t.Errorf("digest of noop = %s", got)
	}
}

func TestTokenVerifiesElsewhere(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := plan.Signable([]byte(`{"z":1.0,"a":[1e2,"é😀\u007f",{"k":0.25}],"deny":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	token, err := plan.Token{
		PlanHash:  "ab",
		IssuedAt:  1_700_000_000,
		ExpiresAt: 1_700_000_300,
		Policy:    policy,
		Identity:  "id",
		Version:   plan.PlanVersion,
	}.Sign(private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(token)
	if err != nil {
		t.Fatal(err)
	}
	if !verifiesLikeAClient(t, raw) {
		t.Errorf("a client does not accept %s", raw)
	}
	got, key, err := plan.VerifyToken(raw)
	if err != nil || !key.Equal(public) || got.ExpiresAt != token.ExpiresAt || got.Signature != token.Signature {
		t.Errorf("VerifyToken = %+v, %v", got, err)
	}
	for _, name := range []string{"allowed_operations", "resource_scope"} {
		if strings.Contains(string(raw), name) {
			t.Errorf("%s is sent though it says nothing", name)
		}
	}
}

func TestVerifyTokenRefuses(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"nothing": "", "null": "null", "text": `"x"`, "empty": "{}",
		"short key":      `{"plan_hash":"","issued_at":1,"expires_at":1,"policy":{},"identity":"","version":"","public_key":"ab","signature":"cd"}`,
		"duplicate keys": `{"plan_hash":"a","plan_hash":"b"}`,
		"huge":           `{"policy":"` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		if _, _, err := plan.VerifyToken([]byte(raw)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestSignable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, give, want string }{
		{"none", "", "{}"}, {"null", "null", "{}"}, {"order", `{"b":1,"a":2}`, `{"a":2,"b":1}`},
		{"floats that are integers", `{"a":100.0,"b":1E2,"c":-0.0}`, `{"a":100,"b":100,"c":0}`},
		{"fractions", `{"a":0.5,"b":-12.25,"c":0.0001}`, `{"a":0.5,"b":-12.25,"c":0.0001}`},
		{"large", `{"a":9007199254740991}`, `{"a":9007199254740991}`},
		{"astral key", `{"😀":1}`, `{"\ud83d\ude00":1}`},
	} {
		if got, err := plan.Signable([]byte(tt.give)); err != nil || string(got) != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.name, got, err, tt.want)
		}
	}
	for name, give := range map[string]string{
		"list": "[]", "text": `"x"`, "cut": "{", "beyond 2^53": `{"a":[9007199254740993]}`,
		"small fraction": `{"a":{"b":0.00001}}`, "exponent": `{"a":1e-7}`,
		"keys that sort differently": "{\"\uff1a\":1}",
		"deep":                       strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65),
		"huge":                       `{"a":1e999}`,
		"duplicate":                  `{"a":1,"a":2}`, "large": `{"a":"` + strings.Repeat("x", 256<<10) + `"}`,
	} {
		if got, err := plan.Signable([]byte(give)); err == nil {
			t.Errorf("%s: signed as %s", name, got)
		}
	}
}

func TestTreeIsRFC6962(t *testing.T) {
	t.Parallel()
	for n := range 20 {
		var steps []string
		for i := range n {
			steps = append(steps, fmt.Sprintf(`{"action":"t%d","mcp":"m","params":{"i":%d}}`, i%3, i))
		}
		raw := `{"steps":[` + strings.Join(steps, ",") + `]}`
		p := parse(t, raw)
		tree := p.Tree()
		var leaves [][]byte
		leaf := func(path string, value any) {
			sum := sha256.Sum256(canonicalJSON(value))
			leaves = append(leaves, canonicalJSON(map[string]any{"path": path, "digest": hex.EncodeToString(sum[:])}))
		}
		for i := range n {
			name := fmt.Sprintf("t%d", i%3)
			leaf(fmt.Sprintf("/steps/[%d]/action", i), name)
			leaf(fmt.Sprintf("/steps/[%d]", i), map[string]any{
				"action": name, "tool": name, "mcp": "m", "arguments": map[string]any{"i": i}, "max_calls": 0,
				"ordered": false, "strict": false,
			})
		}
		leaf("/", decode(t, []byte(raw)))
		if want := hex.EncodeToString(rfc6962(leaves)); tree.Root() != want {
			t.Fatalf("%d steps: root %s, want %s", n, tree.Root(), want)
		}
		for i, proof := range tree.StepProofs() {
			text, err := json.Marshal(proof)
			if err != nil {
				t.Fatal(err)
			}
			if !foldsToRoot(t, tree.Root(), plan.ActionPath(i), digestOfJSON(p.Steps[i].Action), text) {
				t.Errorf("%d steps: the proof of step %d does not fold to the root", n, i)
			}
			whole, ok := tree.StepProof(i)
			text, err = json.Marshal(whole.Proof)
			if err != nil || !ok || !foldsToRoot(t, tree.Root(), whole.Path, whole.ValueDigest, text) {
				t.Errorf("%d steps: the proof of all that step %d says does not fold to the root", n, i)
			}
		}
		if _, ok := tree.ActionProof(n); ok {
			t.Errorf("%d steps: there is a proof of one more", n)
		}
	}
}

// TestEverythingIsBound changes a plan in one place at a time.
func TestEverythingIsBound(t *testing.T) {
	t.Parallel()
	const base = `{"goal":"g","steps":[{"action":"a","mcp":"m","params":{"x":1},"description":"d"},{"action":"b","mcp":"m"}]}`
	tree := parse(t, base).Tree()
	for _, change := range [][2]string{
		{`"x":1`, `"x":2`}, {`"x":1`, `"y":1`}, {`"action":"a"`, `"action":"c"`},
		{`"mcp":"m","params"`, `"mcp":"n","params"`},
		{`"goal":"g"`, `"goal":"h"`}, {`"description":"d"`, `"description":"e"`}, {`"steps"`, `"ordered":true,"steps"`},
		{`"params"`, `"max_calls":1,"params"`}, {`"params"`, `"strict":true,"params"`},
	} {
		altered := strings.Replace(base, change[0], change[1], 1)
		p := parse(t, altered)
		if p.Tree().Root() == tree.Root() {
			t.Errorf("%s: the same root", altered)
		}
		for i, proof := range tree.StepProofs() {
			if plan.CheckProof(p.Tree().Root(),
				plan.Leaf{Path: plan.ActionPath(i), Digest: digestOfJSON(p.Steps[i].Action)}, proof) {
				t.Errorf("%s: an old proof of step %d holds", altered, i)
			}
		}
	}
}

func TestProofsDoNotServeOthers(t *testing.T) {
	t.Parallel()
	tree := parse(t, `{"steps":[{"action":"a"},{"action":"a"},{"action":"b"}]}`).Tree()
	proofs, root := tree.StepProofs(), tree.Root()
	a := digestOfJSON("a")
	check := func(name string, leaf plan.Leaf, proof plan.Proof) {
		if plan.CheckProof(root, leaf, proof) {
			t.Errorf("%s: accepted", name)
		}
	}
	check("of an equal step", plan.Leaf{Path: plan.ActionPath(1), Digest: a}, proofs[0])
	check("other action", plan.Leaf{Path: plan.ActionPath(0), Digest: digestOfJSON("b")}, proofs[0])
	check("cut", plan.Leaf{Path: plan.ActionPath(0), Digest: a}, proofs[0][:1])
	check("none", plan.Leaf{Path: plan.ActionPath(0), Digest: a}, nil)
	flipped := slices.Clone(proofs[0])
	flipped[0].Position = "left"
	check("other side", plan.Leaf{Path: plan.ActionPath(0), Digest: a}, flipped)
	flipped[0] = plan.Sibling{Position: "L", Hash: proofs[0][0].Hash}
	check("no side", plan.Leaf{Path: plan.ActionPath(0), Digest: a}, flipped)
	flipped[0] = plan.Sibling{Position: "right", Hash: "ab"}
	check("short hash", plan.Leaf{Path: plan.ActionPath(0), Digest: a}, flipped)
	check("very long", plan.Leaf{Path: plan.ActionPath(0), Digest: a}, make(plan.Proof, 1000))
	// Second preimage: the two hashes of a node, shown as a leaf.
	node := tree.Nodes()
	check("a node as a leaf", plan.Leaf{Path: node[0].Hash, Digest: node[1].Hash}, proofs[0][1:])
}

func TestNodesCanBeDrawn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 40).Draw(t, "steps")
		p, err := plan.Parse([]byte(`{"steps":[` + strings.TrimSuffix(strings.Repeat(`{"action":"a"},`, n), ",") +
			`]}`))
		if err != nil {
			t.Fatal(err)
		}
		tree := p.Tree()
		nodes := tree.Nodes()
		hashes := map[string]string{}
		for _, node := range nodes {
			if _, twice := hashes[node.ID]; twice {
				t.Fatalf("node %s twice", node.ID)
			}
			hashes[node.ID] = node.Hash
			if len(node.Inputs) == 0 {
				continue
			}
			left, err1 := hex.DecodeString(hashes[node.Inputs[0]])
			right, err2 := hex.DecodeString(hashes[node.Inputs[1]])
			sum := sha256.Sum256(slices.Concat([]byte{1}, left, right))
			if err1 != nil || err2 != nil || hex.EncodeToString(sum[:]) != node.Hash {
				t.Fatalf("node %s is not made of %v", node.ID, node.Inputs)
			}
		}
		if len(nodes) != 2*(2*n+1)-1 || nodes[len(nodes)-1].Hash != tree.Root() {
			t.Fatalf("%d nodes for %d steps, the last is not the root", len(nodes), n)
		}
	})
}

func TestJWTIsNoAccessToken(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_700_000_000, 0)
	give := plan.JWT{
		PlanID:   "p1",
		PlanHash: "ab",
		Identity: "id",
		Issued:   now,
		Expires:  now.Add(time.Minute),
	}
	text, err := give.Sign("k1", private)
	if err != nil {
		t.Fatal(err)
	}
	got, err := plan.VerifyJWT(text, public, now)
	if err != nil || got.PlanID != "p1" || !got.Expires.Equal(give.Expires) {
		t.Errorf("VerifyJWT = %+v, %v", got, err)
	}
	token, _, err := jwt.NewParser().ParseUnverified(text, jwt.MapClaims{})
	if err != nil || token.Header["typ"] != "plan+jwt" || token.Header["alg"] != "EdDSA" ||
		token.Header["kid"] != "k1" {
		t.Errorf("header = %v, %v", token.Header, err)
	}
	if audience, err := token.Claims.GetAudience(); err != nil || len(audience) != 1 || audience[0] != "writ:plan" {
		t.Errorf("audience = %v, %v", audience, err)
	}
	other := jwt.NewWithClaims(jwt.SigningMethodEdDSA, token.Claims)
	access, err := other.SignedString(private) // typ JWT
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"another type": access, "expired": text, "cut": text[:len(text)-4], "long": strings.Repeat("a", 5000),
	} {
		at := now
		if name == "expired" {
			at = now.Add(time.Minute)
		}
		if _, err := plan.VerifyJWT(text, public, at); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
