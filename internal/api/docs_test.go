package api_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"writ/internal/api/route"
	"writ/internal/database/dbtest"
	"writ/internal/testserver"
)

// openAPI is as much of the document as the tests read.
type openAPI struct {
	OpenAPI    string
	Paths      map[string]map[string]operation
	Components struct {
		Schemas         map[string]*schema
		SecuritySchemes map[string]json.RawMessage
	}
}

type operation struct {
	OperationID string
	Summary     string
	Description string
	Security    []map[string][]string
	Parameters  []parameter
	RequestBody struct {
		Required bool
		Content  map[string]mediaType
	}
	Responses map[string]struct{ Content map[string]mediaType }
}

type parameter struct {
	Name, In string
	Required bool
	Schema   *schema
}

type mediaType struct{ Schema *schema }

// schema is a JSON Schema. Its type is one name or several.
type schema struct {
	Ref        string `json:"$ref"`
	Type       any
	Format     string
	Enum       []any
	Minimum    float64
	Maximum    float64
	MinLength  int
	Pattern    string
	MaxLength  int
	Items      *schema
	Properties map[string]*schema
	Required   []string

	AdditionalProperties any
}

// types are the names of the JSON types a schema takes.
func (s *schema) types() []string {
	switch t := s.Type.(type) {
	case string:
		return []string{t}
	case []any:
		var names []string
		for _, name := range t {
			names = append(names, name.(string))
		}
		return names
	}
	return nil
}

// resolve follows references.
func (d *openAPI) resolve(t *testing.T, s *schema) *schema {
	t.Helper()
	for s != nil && s.Ref != "" {
		name := strings.TrimPrefix(s.Ref, "#/components/schemas/")
		if s = d.Components.Schemas[name]; s == nil {
			t.Fatalf("the document refers to %s and does not have it", name)
		}
	}
	return s
}

func (d *openAPI) operation(r route.Route) (operation, bool) {
	op, ok := d.Paths[r.Path][strings.ToLower(r.Method)]
	return op, ok
}

// document reads /openapi.json.
func document(t *testing.T, s *testserver.Server) *openAPI {
	t.Helper()
	answer := s.Request(t, "GET", "/openapi.json", "")
	if kind := answer.Header.Get("Content-Type"); answer.Status != http.StatusOK || kind != "application/json" {
		t.Fatalf("/openapi.json: status %d, Content-Type %q", answer.Status, kind)
	}
	d := &openAPI{}
	if err := json.Unmarshal(answer.Body, d); err != nil {
		t.Fatalf("/openapi.json: %v", err)
	}
	return d
}

func TestDocumentHasEveryRoute(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, dbtest.SQLite(t))
	d := document(t, s)
	if !strings.HasPrefix(d.OpenAPI, "3.1.") {
		t.Errorf("openapi is %q, want 3.1", d.OpenAPI)
	}
	ids, documented := map[string]string{}, 0
	for _, methods := range d.Paths {
		documented += len(methods)
	}
	if routes := len(s.API.Routes()); documented != routes {
		t.Errorf("%d operations are documented, %d routes served", documented, routes)
	}
	for _, r := range s.API.Routes() {
		name := r.Method + " " + r.Path
		op, ok := d.operation(r)
		if !ok {
			t.Errorf("%s is not documented", name)
			continue
		}
		if other, taken := ids[op.OperationID]; taken || op.OperationID == "" {
			t.Errorf("%s has the operation id %q of %q", name, op.OperationID, other)
		}
		ids[op.OperationID] = name
		if op.Summary == "" || op.Description == "" {
			t.Errorf("%s has no summary, or no description", name)
		}
		checkSecurity(t, d, r, op)
		checkParameters(t, r, op)
		checkResponses(t, d, r, op)
		if content, ok := op.RequestBody.Content["application/json"]; ok {
			checkTyped(t, d, name, content.Schema)
		}
	}
}

// acceptedSchemes are the ways to sign in a mode documents.
var acceptedSchemes = map[route.Mode][]string{
	route.Public:      nil,
	route.Person:      {"accessToken"},
	route.Session:     {"accessToken"}, // or none, with a cookie
	route.Key:         {"apiKey"},
	route.PersonOrKey: {"accessToken", "apiKey"},
	route.Proxy:       {"proxyToken"},

	route.PlanToken: {"apiKey"}, // or none
	route.Agent:     {"apiKey", "clientToken"},
}

func checkSecurity(t *testing.T, d *openAPI, r route.Route, op operation) {
	t.Helper()
	var schemes []string
	for _, alternative := range op.Security {
		for scheme := range alternative {
			schemes = append(schemes, scheme)
			if _, ok := d.Components.SecuritySchemes[scheme]; !ok {
				t.Errorf("%s %s asks for %q, which is not described", r.Method, r.Path, scheme)
			}
		}
	}
	if want := acceptedSchemes[r.Mode]; !slices.Equal(schemes, want) {
		t.Errorf("%s %s documents the security %q, want %q for %s", r.Method, r.Path, schemes, want, r.Mode)
	}
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// checkParameters also finds a parameter that the handler cannot read.
func checkParameters(t *testing.T, r route.Route, op operation) {
	t.Helper()
	for _, match := range pathParameter.FindAllStringSubmatch(r.Path, -1) {
		documented := slices.ContainsFunc(op.Parameters, func(p parameter) bool {
			return p.Name == match[1] && p.In == "path" && p.Required && p.Schema != nil
		})
		if !documented {
			t.Errorf("%s %s does not document its path parameter %s", r.Method, r.Path, match[1])
		}
	}
}

func checkResponses(t *testing.T, d *openAPI, r route.Route, op operation) {
	t.Helper()
	want := []int{r.Status, http.StatusBadRequest, http.StatusServiceUnavailable}
	if r.Mode != route.Public {
		want = append(want, http.StatusUnauthorized, http.StatusForbidden)
	}
	if !r.Throttle.IsZero() || !r.OpenThrottle.IsZero() {
		want = append(want, http.StatusTooManyRequests)
	}
	for _, status := range want {
		if _, ok := op.Responses[strconv.Itoa(status)]; !ok {
			t.Errorf("%s %s does not document %d", r.Method, r.Path, status)
		}
	}
	for status, response := range op.Responses {
		if status == "422" {
			t.Errorf("%s %s documents 422, which is never sent", r.Method, r.Path)
		}
		if status < "400" {
			continue
		}
		shape := d.resolve(t, response.Content["application/json"].Schema)
		if shape == nil || shape.Properties["requestId"] == nil || shape.Properties["statusCode"] == nil {
			t.Errorf("%s %s: %s has not the shape of errors", r.Method, r.Path, status)
		}
	}
}

// checkTyped wants a type on everything a client may send.
func checkTyped(t *testing.T, d *openAPI, where string, s *schema) {
	t.Helper()
	if s = d.resolve(t, s); s == nil || len(s.types()) == 0 {
		t.Errorf("%s has no type", where)
		return
	}
	for name, member := range s.Properties {
		checkTyped(t, d, where+" "+name, member)
	}
	if s.Items != nil {
		checkTyped(t, d, where+"[]", s.Items)
	}
}

var assetLink = regexp.MustCompile(`(?:src|href)="([^"]+)"`)

// elsewhere is how a page names another server.
var elsewhere = regexp.MustCompile(`https?:|["']//`)

// TestDocsPage loads what a browser would load; nothing of it may come from
// another server.
func TestDocsPage(t *testing.T) {
	t.Parallel()
	s := testserver.Start(t, dbtest.SQLite(t))
	page := s.Request(t, "GET", "/api-docs", "")
	if kind := page.Header.Get("Content-Type"); page.Status != http.StatusOK || !strings.HasPrefix(kind, "text/html") {
		t.Fatalf("/api-docs: status %d, Content-Type %q", page.Status, kind)
	}
	if policy := page.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'self'") ||
		strings.Contains(policy, "http") {
		t.Errorf("the page's policy is %q", policy)
	}
	if elsewhere.Match(page.Body) {
		t.Errorf("the page names another server:\n%s", page.Body)
	}
	links := assetLink.FindAllSubmatch(page.Body, -1)
	if len(links) != 3 {
		t.Errorf("the page loads %d files, want style, viewer and start", len(links))
	}
	for _, link := range links {
		path := string(link[1])
		asset := s.Request(t, "GET", path, "")
		kind := "text/javascript"
		if strings.HasSuffix(path, ".css") {
			kind = "text/css"
		}
		if asset.Status != http.StatusOK || len(asset.Body) == 0 ||
			!strings.HasPrefix(asset.Header.Get("Content-Type"), kind) {
			t.Errorf("%s: status %d, Content-Type %q, %d bytes", path, asset.Status, asset.Header.Get("Content-Type"),
				len(asset.Body))
		}
	}
	script := s.Request(t, "GET", "/api-docs/start.js", "").Body
	if !strings.Contains(string(script), `"/openapi.json"`) || elsewhere.Match(script) {
		t.Errorf("the page does not show our document alone: %s", script)
	}
}

func TestNoDocsInProduction(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		for _, path := range []string{
			"/openapi.json", "/api-docs", "/api-docs/start.js", "/api-docs/swagger-ui-bundle.js",
		} {
			s.Request(t, "GET", path, "").ErrorFields(t, http.StatusNotFound)
		}
		if answer := s.Request(t, "GET", "/ready", ""); answer.Status != http.StatusOK {
			t.Errorf("/ready in production: %d %s", answer.Status, answer.Body)
		}
	}, "WRIT_ENV", "production", "WRIT_PUBLIC_URL", "https://writ.example.org", "WRIT_LISTEN", "127.0.0.1")
}
