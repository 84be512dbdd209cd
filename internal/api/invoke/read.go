package invoke

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/decisions"
	"writ/internal/api/route"
	"writ/internal/carrier"
	"writ/internal/enforcement"
	"writ/internal/fault"
	"writ/internal/intent/plan"
	"writ/internal/mcp"
)

// callNames are the names of a call here.
var callNames = route.Names{Server: "mcp", Tool: "tool", Arguments: "arguments"}

// wireCall is what is read of a body. All else that SDKs send is their own word.
type wireCall struct {
	MCP         *string        `json:"mcp"`
	Tool        *string        `json:"tool"`
	Arguments   jsontext.Value `json:"arguments"`
	IntentToken jsontext.Value `json:"intent_token"`
	MerkleProof jsontext.Value `json:"merkle_proof"`
	UserEmail   *string        `json:"user_email"`
	SessionID   *string        `json:"session_id"`
	EnforceOnly *bool          `json:"enforce_only"`

	Others map[string]jsontext.Value `json:",embed"`
}

// tokenCopies are the names under which SDKs send the token once more, and those that other routes read it under.
var tokenCopies = append([]string{"csrg_token"}, slices.DeleteFunc(slices.Clone(route.PlanTokenNames),
	func(name string) bool { return name == "intent_token" })...)

// read reads a call. What two readers could take for different calls is refused.
func (h *Handlers) read(r *http.Request) (sentCall, error) {
	body, release, err := h.Bodies.Read(r, h.MaxBodyBytes)
	defer release()
	if err != nil {
		return sentCall{}, err
	}
	text, err := callNames.Rewrite(body)
	if err != nil {
		return sentCall{}, err
	}
	var in wireCall
	if err := route.ReadObject(text, &in); err != nil {
		return sentCall{}, unreadable(err)
	}
	if err := in.check(); err != nil {
		return sentCall{}, err
	}
	sent := sentCall{enforceOnly: in.EnforceOnly != nil && *in.EnforceOnly}
	sent.SDK, sent.TokenRequired, sent.UserOfPlan = true, true, true
	sent.Server = strings.TrimSpace(route.OrEmpty(in.MCP))
	sent.UserEmail, sent.SessionID = route.OrEmpty(in.UserEmail), route.OrEmpty(in.SessionID)
	if err := decisions.NamePerson(&sent.Request, r.Header); err != nil {
		return sentCall{}, err
	}
	sent.Presented = plan.ParsePresented(in.IntentToken).With(in.Others, tokenCopies)
	sent.Envelope = readEnvelope(r.Header)
	held := decisions.HeldProof(r, body)
	sent.Held, sent.Request.Sent = held.Proof, held.Sent
	sent.HeldAs = r.Header.Values(decisions.ProofHeader)
	if sent.Tool, err = in.tool(); err != nil {
		return sentCall{}, err
	}
	if isSent(in.Arguments) {
		sent.Arguments = bytes.Clone(in.Arguments)
	}
	if sent.enforceOnly {
		return sent, nil
	}
	if sent.Server == "" {
		return sentCall{}, fault.Field("mcp", "must name the MCP server")
	}
	sent.Proof = readProof(r.Header, in.MerkleProof)
	sent.Own, err = readCredentials(r.Header)
	return sent, err
}

// unreadable names the member that has the wrong type, if one has.
func unreadable(err error) error {
	return fault.Field(route.FieldOf(err), "%s", route.Describe(err))
}

// check refuses members that are not what they should be. Null is none, as some clients write it.
func (in *wireCall) check() error {
	for _, member := range []struct {
		name  string
		value jsontext.Value
		kind  jsontext.Kind
	}{
		{"arguments", in.Arguments, jsontext.KindBeginObject},
		{"merkle_proof", in.MerkleProof, jsontext.KindBeginArray},
	} {
		if isSent(member.value) && member.value.Kind() != member.kind {
			return fault.Field(member.name, "has a value of the wrong type")
		}
	}
	if isSent(in.IntentToken) && in.IntentToken.Kind() != jsontext.KindBeginObject {
		return fault.Field("intent_token", "has a value of the wrong type: it must be the object that "+
			"POST /iap/sdk/token answered")
	}
	if !isSent(in.MerkleProof) {
		return nil
	}
	proof, ok := plan.ParseProof(in.MerkleProof)
	if !ok || slices.ContainsFunc(proof, func(s plan.Sibling) bool { return s == plan.Sibling{} }) {
		return fault.Field("merkle_proof", "must be a proof as it was issued")
	}
	return nil
}

func isSent(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != jsontext.KindNull }

func (in *wireCall) tool() (string, error) {
	called := strings.TrimSpace(route.OrEmpty(in.Tool))
	switch {
	case called == "":
		return "", fault.Field("tool", "must name the tool")
	case strings.HasPrefix(called, carrier.ReservedPrefix):
		return "", fault.Field("tool", "must not begin with %s, which stands for no tool", carrier.ReservedPrefix)
	}
	return called, nil
}

// Headers that prove the step of a call.
const (
	pathHeader   = "X-Csrg-Path"
	digestHeader = "X-Csrg-Value-Digest"
	proofHeader  = "X-Csrg-Proof"
)

// Headers with the part of a plan that was delegated. A published SDK sends them beside the token of the plan.
const (
	subtreeHeader      = "X-Csrg-Subtree-Path"
	subtreeRootHeader  = "X-Csrg-Subtree-Root"
	parentRootHeader   = "X-Csrg-Parent-Root"
	subtreeProofHeader = "X-Csrg-Subtree-Proof"
)

// readEnvelope reads the part of the plan that the call is limited to; nil: none is named. One that cannot be read
// names a part that no plan has.
func readEnvelope(header http.Header) *plan.Envelope {
	sent, ok := false, true
	for _, name := range []string{subtreeHeader, subtreeRootHeader, parentRootHeader, subtreeProofHeader} {
		sent = sent || len(header[name]) > 0
		ok = ok && len(header[name]) <= 1 && utf8.ValidString(header.Get(name)) // else no database takes it
	}
	if !sent {
		return nil
	}
	e := &plan.Envelope{
		Path: header.Get(subtreeHeader), Root: header.Get(subtreeRootHeader), ParentRoot: header.Get(parentRootHeader),
	}
	if text := header.Get(subtreeProofHeader); text != "" {
		raw, err := base64.StdEncoding.DecodeString(text)
		var proof plan.Proof
		if err == nil {
			var read bool
			proof, read = plan.ParseProof(raw)
			ok = ok && read
		}
		ok, e.Proof = ok && err == nil, proof
	}
	if !ok || e.Path == "" {
		return &plan.Envelope{Path: "?"}
	}
	return e
}

// readProof reads the proof of a step. One that cannot be read proves nothing, and is refused as a false one is.
func readProof(header http.Header, inBody jsontext.Value) (c enforcement.Carried) {
	demanded(&c)
	raw := []byte(header.Get(proofHeader))
	if len(raw) == 0 && isSent(inBody) {
		raw = inBody
	}
	if len(raw) == 0 || header.Get(pathHeader) == "" {
		return c
	}
	c.Proof = &plan.Claim{}
	proof, ok := plan.ParseProof(raw)
	for _, name := range []string{pathHeader, digestHeader, proofHeader} {
		ok = ok && len(header[name]) <= 1
	}
	if ok {
		c.Proof.Path, c.Proof.Digest, c.Proof.Proof = header.Get(pathHeader), header.Get(digestHeader), proof
	}
	return c
}

// credentialsHeader carries a caller's own credentials for an MCP server. It goes no further.
const credentialsHeader = "X-Armoriq-Mcp-Auth"

const maxCredentials = 16 << 10

// readCredentials reads a caller's own credentials. Its errors show nothing of them.
func readCredentials(header http.Header) (c carrier.Credentials, err error) {
	values := header[credentialsHeader]
	if len(values) == 0 {
		return c, nil
	}
	wrong := func(message string) (carrier.Credentials, error) {
		return carrier.Credentials{}, fault.Field("X-Armoriq-MCP-Auth", "%s", message)
	}
	var in struct {
		Type       string `json:"authType"`
		Token      string `json:"token"`
		APIKey     string `json:"apiKey"`
		HeaderName string `json:"headerName"`
		Username   string `json:"username"`
		Password   string `json:"password"`
	}
	text, err := base64.StdEncoding.DecodeString(values[0])
	if len(values) > 1 || err != nil || len(text) > maxCredentials || json.Unmarshal(text, &in) != nil {
		return wrong("must be base64 of a JSON object with authType")
	}
	switch in.Type {
	case "none":
		return c, nil
	case "bearer":
		c = carrier.Credentials{Name: "Authorization", Value: "Bearer " + in.Token}
	case "basic":
		pair := base64.StdEncoding.EncodeToString([]byte(in.Username + ":" + in.Password))
		c = carrier.Credentials{Name: "Authorization", Value: "Basic " + pair}
	case "api_key":
		c = carrier.Credentials{Name: mcp.DefaultHeader, Value: in.APIKey}
		if in.HeaderName != "" {
			c.Name = in.HeaderName
		}
	default:
		return wrong("must have the authType bearer, api_key, basic or none")
	}
	if !mcp.IsHeader(c.Name) || !isPrintable(c.Value) {
		return wrong("must be a header of ASCII that does not belong to the connection")
	}
	return c, nil
}

func isPrintable(value string) bool {
	return !strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c > '~' })
}
