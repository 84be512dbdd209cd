package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"writ/internal/api/route"
	"writ/internal/database"
	"writ/internal/testserver"
)

// bodyRoute is a route that takes a body, called by someone who may.
type bodyRoute struct {
	*testserver.Server
	t        *testing.T
	method   string
	path     string // with its parameters filled in
	headers  []string
	body     *schema
	required bool // the body
	document *openAPI
	calls    *atomic.Int32
}

// isSigned reports whether nothing of a body is read before its signature, of which package api/billing has tests.
func isSigned(path string) bool { return path == "/billing/webhook" }

// eachBodyRoute runs the test on every route of the table that takes a body, on
// each database.
func eachBodyRoute(t *testing.T, test func(t *testing.T, r *bodyRoute)) {
	t.Helper()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		owner := operate(s, s.Person("owner"))
		orgID := s.Organization(owner, "Decoding")
		key, policyID := s.TerminalKey(owner, orgID), s.Draft(owner, orgID, "decoded")
		planID := s.Declare(key.APIKey, "decoded").PlanID
		d, calls, found := document(t, s), new(atomic.Int32), 0
		for _, declared := range s.API.Routes() {
			op, _ := d.operation(declared)
			content, ok := op.RequestBody.Content["application/json"]
			if !ok || takesDocument(op) || decides(declared.Path) || speaksOAuth(declared.Path) || speaksOTLP(op) ||
				speaksMCP(declared) || isSigned(declared.Path) {
				continue
			}
			found++
			r := &bodyRoute{
				Server:   s,
				method:   declared.Method,
				body:     d.resolve(t, content.Schema),
				required: op.RequestBody.Required,
				document: d,
				calls:    calls,
			}
			r.path = pathParameter.ReplaceAllStringFunc(declared.Path, func(parameter string) string {
				switch parameter {
				case "{orgId}":
					return orgID
				case "{policyId}":
					return policyID // before the body is read it must be there
				case "{planId}":
					return planID
				}
				return database.NewID()
			})
			if slices.ContainsFunc(op.Parameters, func(p parameter) bool {
				return p.In == "query" && p.Name == "organizationId"
			}) {
				r.path += "?organizationId=" + orgID
			}
			switch declared.Mode {
			case route.Person, route.PersonOrKey:
				r.headers = testserver.Credentials(owner.Client)
			case route.Key:
				r.headers = testserver.Credentials(key)
			case route.Proxy:
				r.headers = []string{
					"Authorization", "Bearer " + testserver.ProxyToken, "Writ-On-Behalf-Of", key.APIKey,
				}
			case route.Public:
			default:
				t.Fatalf("%s %s: the test has no credentials for %s", declared.Method, declared.Path, declared.Mode)
			}
			t.Run(declared.Method+declared.Path, func(t *testing.T) {
				r.t = t
				test(t, r)
			})
		}
		if found < 10 {
			t.Errorf("only %d routes take a body: the document does not say so any more", found)
		}
	}, "WRIT_PROXY_TOKEN", testserver.ProxyToken, "WRIT_TRUSTED_PROXIES", "127.0.0.1",
		"WRIT_MAX_INGEST_BYTES", "1048576") // as large as other bodies
}

// speaksMCP reports whether a route takes messages of MCP, which are read by the rules of that protocol: see
// TestBadMessagesAreRefused of the area.
func speaksMCP(r route.Route) bool { return r.Mode == route.Agent }

// takesDocument reports whether a route takes a policy, in either form. Those are
// read by rules of their own: see TestDocumentsThatAreRefused.
func takesDocument(op operation) bool {
	_, ok := op.RequestBody.Content["application/yaml"]
	return ok || takesReports(op) || op.OperationID == "registerSdk" || // see TestManifestsThatAreRefused
		op.OperationID == "setPoliciesProfilesDraft" // see TestProfilesThatAreRefused
}

// takesReports reports whether a route takes executions, which are answered with
// a success whatever they are like: see TestReportsAreAlwaysAnswered.
func takesReports(op operation) bool { return strings.HasPrefix(op.OperationID, "reportExecution") }

// decides reports whether a route answers a body that cannot be read with a deny:
// see TestBodiesThatCannotBeReadAreDenied.
func decides(path string) bool {
	return slices.Contains([]string{"/iap/sdk/enforce", "/iap/enforce", "/iap/verify-step", "/verify/action"}, path) ||
		strings.HasPrefix(path, "/proxy/guard/decisions") // see TestAnOutcomeIsReportedWithItsToken of the area
}

// speaksOAuth reports whether a route answers errors with codes of OAuth: see
// TestTokenErrorsSpeakOAuth, and TestRegistration of the OAuth clients.
func speaksOAuth(path string) bool { return path == "/auth/device/token" || path == "/oauth/register" }

// speaksOTLP reports whether a route takes OTLP, which has its own rules for what is
// missing, null or unknown: see TestOTLPErrors, and package otlp.
func speaksOTLP(op operation) bool {
	_, ok := op.RequestBody.Content["application/x-protobuf"]
	return ok
}

// send posts a body from an address of its own, so that no throttle steps in.
// Whatever the body, the server must neither fail nor repeat the secret.
func (r *bodyRoute) send(body string) testserver.Answer {
	r.t.Helper()
	n := r.calls.Add(1)
	address := fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255)
	answer := r.Request(r.t, r.method, r.path, body, append([]string{"X-Forwarded-For", address}, r.headers...)...)
	if answer.Status >= 500 {
		r.t.Errorf("status %d for %.200q: %s", answer.Status, body, answer.Body)
	}
	if answer.Status >= 400 && strings.Contains(string(answer.Body)+fmt.Sprint(answer.Header), testserver.TypedSecret) {
		r.t.Errorf("the answer to %.200q repeats what was sent: %s", body, answer.Body)
	}
	return answer
}

// refuse wants a 400, and the field it complains of first.
func (r *bodyRoute) refuse(what, body, field string) {
	r.t.Helper()
	answer := r.send(body)
	if answer.Status != http.StatusBadRequest {
		r.t.Errorf("%s: status %d, want 400: %s", what, answer.Status, answer.Body)
		return
	}
	fields := answer.ErrorFields(r.t, http.StatusBadRequest)
	if len(fields) == 0 || fields[0] != field && !strings.HasPrefix(fields[0], field+"[") {
		r.t.Errorf("%s: complains of %q, want %q: %s", what, fields, field, answer.Body)
	}
}

// outcome is what two answers must have in common to be the same.
type outcome struct {
	Status int
	Fields []string
}

func (r *bodyRoute) outcome(body string) outcome {
	r.t.Helper()
	answer := r.send(body)
	isDecision := r.path == "/invoke" && answer.Status == http.StatusForbidden
	if answer.Status < 400 || isDecision {
		return outcome{Status: answer.Status}
	}
	return outcome{answer.Status, answer.ErrorFields(r.t, answer.Status)}
}

// object is a valid body with some members replaced (by JSON texts; an empty one
// leaves the member out) and further text before its closing brace.
func (r *bodyRoute) object(replace map[string]string, more string) string {
	texts := map[string]string{}
	for _, name := range r.body.Required {
		texts[name] = r.sample(name, r.body.Properties[name])
	}
	maps.Copy(texts, replace)
	var members []string
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if texts[name] != "" {
			members = append(members, fmt.Sprintf("%q:%s", name, texts[name]))
		}
	}
	if more != "" {
		members = append(members, more)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// sample is the JSON text of a value the schema allows.
func (r *bodyRoute) sample(name string, s *schema) string {
	r.t.Helper()
	s = r.document.resolve(r.t, s)
	var value any
	switch kind := s.types()[0]; {
	case len(s.Enum) > 0:
		value = s.Enum[0]
	case kind == "boolean":
		value = true
	case kind == "integer" || kind == "number":
		value = max(1, s.Minimum)
	case kind == "array":
		return "[" + r.sample(name, s.Items) + "]"
	case kind == "object":
		return (&bodyRoute{t: r.t, body: s, document: r.document}).object(nil, "")
	case s.Format == "date-time":
		value = "2100-01-01T00:00:00Z"
	case s.Format == "uuid":
		value = database.NewID()
	case strings.Contains(strings.ToLower(name), "email"):
		value = "p" + strings.ReplaceAll(database.NewID(), "-", "") + "@example.org"
	case s.Pattern != "":
		value = strings.Repeat("a", 64) // also the digits of a hash
	default:
		value = strings.Repeat("a", max(12, s.MinLength))
	}
	text, err := json.Marshal(value)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(text)
}

// values are JSON texts by their type.
var values = map[string]string{
	"null":    `null`,
	"boolean": `true`,
	"number":  `424242.5`,
	"string":  `"` + testserver.TypedSecret + `"`,
	"array":   `["` + testserver.TypedSecret + `"]`,
	"object":  `{"` + testserver.TypedSecret + `":"` + testserver.TypedSecret + `"}`,
}

// TestBodiesThatAreNoObject sends what no decoder may take.
func TestBodiesThatAreNoObject(t *testing.T) {
	t.Parallel()
	const deep = 40_000
	eachBodyRoute(t, func(t *testing.T, r *bodyRoute) {
		for name, body := range map[string]string{
			"null":                      `null`,
			"an array":                  `[{"` + testserver.TypedSecret + `":1}]`,
			"a number":                  `424242`,
			"a string":                  values["string"],
			"white space":               " \n",
			"half an object":            `{"` + testserver.TypedSecret + `":"` + testserver.TypedSecret,
			"two objects":               r.object(nil, "") + r.object(nil, ""),
			"a comma at the end":        `{"a":"` + testserver.TypedSecret + `",}`,
			"no quotes":                 `{` + testserver.TypedSecret + `:1}`,
			"a byte order mark":         "\ufeff" + r.object(nil, ""),
			"a control character":       r.object(nil, `"a":"`+testserver.TypedSecret+"\n\""),
			"a number JSON lacks":       r.object(nil, `"a":NaN`),
			"brackets without end":      strings.Repeat("[", deep),
			"braces without end":        strings.Repeat(`{"a":`, deep),
			"a value nested too deeply": r.object(nil, `"a":`+strings.Repeat("[", deep)+strings.Repeat("]", deep)),
		} {
			r.refuse(name, body, "body")
		}
		for name, body := range map[string]string{
			"invalid UTF-8":             r.object(nil, `"a":"`+testserver.TypedSecret+"\xff\""),
			"invalid UTF-8 in a name":   r.object(nil, `"`+testserver.TypedSecret+"\xc3\x28\":1"),
			"an overlong encoding":      r.object(nil, `"a":"`+testserver.TypedSecret+"\xc0\xaf\""),
			"half a surrogate pair":     r.object(nil, `"a":"`+testserver.TypedSecret+`\ud800"`),
			"a surrogate pair reversed": r.object(nil, `"a":"`+testserver.TypedSecret+`\udc00\ud800"`),
			"an unknown member twice":   r.object(nil, `"a":1,"a":1`),
			"an escaped name twice":     r.object(nil, `"a":1,"\u0061":1`),
		} {
			if r.splitsBatches() {
				r.take(name+" in a member nobody reads", body)
				continue
			}
			r.refuse(name, body, "body")
		}
		if answer := r.send(""); r.required != (answer.Status == http.StatusBadRequest) {
			t.Errorf("no body: status %d, and it is required: %t", answer.Status, r.required)
		}
		tooLarge := r.object(nil, `"a":"`+strings.Repeat("x", 2<<20)+`"`)
		r.send(tooLarge).ErrorFields(t, http.StatusRequestEntityTooLarge)
	})
}

// TestMembersOfTheWrongKind sends each member absent, twice and with values it
// does not take; the answer must name it.
func TestMembersOfTheWrongKind(t *testing.T) {
	t.Parallel()
	eachBodyRoute(t, func(t *testing.T, r *bodyRoute) {
		for name, s := range r.body.Properties {
			s = r.document.resolve(t, s)
			isRequired := slices.Contains(r.body.Required, name)
			for kind, value := range values {
				body := r.object(map[string]string{name: value}, "")
				if kind == "object" && (name == "document" || s.AdditionalProperties == false) {
					continue // the error names the unknown member
				}
				if slices.Contains(s.types(), kind) || kind == "null" && !isRequired {
					r.send(body) // whether it is taken is for the area to say
					continue
				}
				if r.splitsBatches() && name == "sessionId" {
					r.rejectBatch(name+" as "+kind, body, name) // it is that of the batches which name none
					continue
				}
				r.refuse(name+" as "+kind, body, name)
			}
			if isRequired {
				r.refuse("no "+name, r.object(map[string]string{name: ""}, ""), name)
			}
			switch {
			case r.splitsBatches() && name == "sessionId":
				r.rejectBatch(name+" out of its range", r.object(map[string]string{name: values["string"]}, ""), name)
			case len(s.Enum) > 0 || s.Format != "":
				r.refuse(name+" out of its range", r.object(map[string]string{name: values["string"]}, ""), name)
			}
			if s.MinLength > 0 {
				r.refuse(name+" too short", r.object(map[string]string{name: `""`}, ""), name)
			}
			if s.MaxLength > 0 {
				long := `"` + testserver.TypedSecret + strings.Repeat("x", s.MaxLength) + `"`
				r.refuse(name+" too long", r.object(map[string]string{name: long}, ""), name)
			}
			items := r.object(map[string]string{name: `[{"a":"` + testserver.TypedSecret + `"}]`}, "")
			sample, complaint := r.sample(name, s), "body"
			if r.splitsBatches() {
				complaint = name // known before the rest is read
			}
			switch {
			case s.Items != nil && r.splitsBatches():
				r.rejectBatch(name+" with an item of another kind", items, "trace")
			case s.Items != nil:
				r.refuse(name+" with an item of another kind", items, name)
			}
			r.refuse(name+" twice", r.object(map[string]string{name: sample}, fmt.Sprintf("%q:%s", name, sample)),
				complaint)
		}
	})
}

// otherCases are the names a lenient decoder takes for this one.
func otherCases(name string) []string {
	folded := strings.NewReplacer("s", "ſ", "k", "\u212a").Replace(name) // long s, Kelvin sign
	cases := []string{strings.ToUpper(name), strings.ToUpper(name[:1]) + name[1:], strings.ToLower(name), folded}
	slices.Sort(cases)
	return slices.DeleteFunc(slices.Compact(cases), func(other string) bool { return other == name })
}

// TestMemberNamesAreExact sends members under names that differ only in case.
// They are unknown: they stand for no required member and change nothing, or are
// refused by name where a body sets something up.
func TestMemberNamesAreExact(t *testing.T) {
	t.Parallel()
	eachBodyRoute(t, func(t *testing.T, r *bodyRoute) {
		var lookalikes []string
		for name, s := range r.body.Properties {
			for _, other := range otherCases(name) {
				// Read as the member, this would be of the wrong kind.
				lookalikes = append(lookalikes, fmt.Sprintf("%q:%s", other, wrongKind(s)))
				if slices.Contains(r.body.Required, name) {
					instead := fmt.Sprintf("%q:%s", other, r.sample(name, s))
					r.refuse(other+" instead of "+name, r.object(map[string]string{name: ""}, instead), name)
				}
			}
		}
		if r.body.AdditionalProperties == false {
			for _, other := range append(lookalikes, `"unheardOf":{"a":[1,null,{}]}`, `"x":null`,
				`"__proto__":{"role":"owner"}`) {
				name, _, _ := strings.Cut(other, ":")
				r.refuse("unknown "+name, r.object(nil, other), strings.Trim(name, `"`))
			}
			return
		}
		want := r.outcome(r.object(nil, ""))
		for what, more := range map[string]string{
			"members in another case": strings.Join(lookalikes, ","),
			"unknown members":         `"unheardOf":{"a":[1,null,{}]},"x":null,"":0,"__proto__":{"role":"owner"}`,
		} {
			if diff := cmp.Diff(want, r.outcome(r.object(nil, more))); diff != "" {
				t.Errorf("%s change the outcome (-without +with):\n%s", what, diff)
			}
		}
	})
}

// wrongKind is a value that the schema does not take.
func wrongKind(s *schema) string {
	if slices.Contains(s.types(), "object") {
		return values["array"]
	}
	return values["object"]
}

// TestTextsNoDatabaseTakes sends strings that are valid JSON and still trouble:
// send fails the test when the server does not cope.
func TestTextsNoDatabaseTakes(t *testing.T) {
	t.Parallel()
	eachBodyRoute(t, func(t *testing.T, r *bodyRoute) {
		for name, s := range r.body.Properties {
			s = r.document.resolve(t, s)
			if s.Type != "string" {
				continue
			}
			for _, text := range []string{
				`a\u0000b` + testserver.TypedSecret, `\ufffd\uffff\u202e'"` + "`" + testserver.TypedSecret,
				strings.Repeat("y", 200_000),
			} {
				r.send(r.object(map[string]string{name: `"` + strings.ReplaceAll(text, `'"`, `'\"`) + `"`}, ""))
			}
		}
	})
}
