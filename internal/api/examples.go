package api

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"writ/internal/api/route"
)

// examplesText are requests that follow on each other, as an agent and people make them. The document shows them, and a
// test sends all of them, so that none is wrong.
//
//go:embed examples.json
var examplesText []byte

// answersText are the answers to those requests, which the test records: one for each route.
//
//go:embed answers.json
var answersText []byte

// exampleAnswer is an answer without what differs from run to run.
type exampleAnswer struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"`
}

// readAnswers reads the answers by their requests. That they can be read is tested.
func readAnswers() map[string]exampleAnswer {
	var read map[string]exampleAnswer
	if err := json.Unmarshal(answersText, &read); err != nil {
		panic(fmt.Sprintf("read the answers of the document: %v", err))
	}
	return read
}

// exampleRequests are the examples, with a value for the document in the place of each {{name}}.
type exampleRequests struct {
	Values   map[string]string `json:"values"`
	Examples []exampleRequest  `json:"examples"`
}

// exampleRequest is one request. Path and Query are its parameters.
type exampleRequest struct {
	Request string            `json:"request"` // POST /policies/{policyId}/activate
	By      string            `json:"by"`      // person, approver, agent, plugin, terminal or public
	Path    map[string]string `json:"path,omitempty"`
	Query   map[string]string `json:"query,omitempty"`
	Body    json.RawMessage   `json:"body,omitempty"`
	// Saves are the values that later requests use, by where the answer has them.
	Saves map[string]string `json:"saves,omitempty"`
	// Again: the document has another example of this route.
	Again bool `json:"again,omitempty"`
}

// readExamples reads the examples. That they can be read is tested.
func readExamples() exampleRequests {
	var read exampleRequests
	if err := json.Unmarshal(examplesText, &read); err != nil {
		panic(fmt.Sprintf("read the examples of the document: %v", err))
	}
	return read
}

// with replaces each {{name}} by a value.
func (e exampleRequest) with(values map[string]string) exampleRequest {
	var pairs []string
	for name, value := range values {
		pairs = append(pairs, "{{"+name+"}}", value)
	}
	replacer := strings.NewReplacer(pairs...)
	replaced := func(of map[string]string) map[string]string {
		made := map[string]string{}
		for name, value := range of {
			made[name] = replacer.Replace(value)
		}
		return made
	}
	e.Path, e.Query = replaced(e.Path), replaced(e.Query)
	if e.Body != nil {
		e.Body = json.RawMessage(replacer.Replace(string(e.Body)))
	}
	return e
}

// target is the path and query that are requested.
func (e exampleRequest) target() string {
	_, target, _ := strings.Cut(e.Request, " ")
	for name, value := range e.Path {
		target = strings.ReplaceAll(target, "{"+name+"}", url.PathEscape(value))
	}
	if len(e.Query) == 0 {
		return target
	}
	query := url.Values{}
	for name, value := range e.Query {
		query.Set(name, value)
	}
	return target + "?" + query.Encode()
}

// curl is the request as people type it.
func (e exampleRequest) curl() string {
	method, _, _ := strings.Cut(e.Request, " ")
	credential := map[string]string{
		"person": ` -H "Authorization: Bearer $TOKEN"`, "approver": ` -H "Authorization: Bearer $TOKEN"`, "public": "",
	}
	header, ok := credential[e.By]
	if !ok {
		header = ` -H "x-api-key: $WRIT_API_KEY"`
	}
	line := "curl -X " + method + header
	if e.Body != nil {
		line += ` -H "Content-Type: application/json" -d '` + strings.ReplaceAll(string(e.Body), "'", `'\''`) + "'"
	}
	return line + ` "$WRIT_URL` + e.target() + `"`
}

// documentExamples shows the examples in the document: the body, the parameters, the whole request, and its answer.
func documentExamples(r *route.Router) {
	read, answers := readExamples(), readAnswers()
	for _, e := range read.Examples {
		if e.Again {
			continue
		}
		e = e.with(read.Values)
		op := operationOf(r, e.Request)
		op.Extensions = map[string]any{
			"x-codeSamples": []map[string]string{{"lang": "Shell", "label": "curl", "source": e.curl()}},
		}
		if e.Body != nil {
			op.RequestBody.Content[route.JSONType].Example = e.Body
		}
		if answer, ok := answers[e.Request]; ok {
			op.Responses[strconv.Itoa(answer.Status)].Content[route.JSONType].Example = answer.Body
		}
		for _, p := range op.Parameters {
			if value, ok := e.Path[p.Name]; ok && p.In == "path" && isText(p.Schema) {
				p.Example = value
			}
			if value, ok := e.Query[p.Name]; ok && p.In == "query" && isText(p.Schema) {
				p.Example = value
			}
		}
	}
}

// isText reports whether a parameter is a text: examples of others would need their type.
func isText(s *huma.Schema) bool { return s != nil && s.Type == huma.TypeString }

func operationOf(r *route.Router, request string) *huma.Operation {
	method, path, _ := strings.Cut(request, " ")
	item := r.OpenAPI().Paths[path]
	if item == nil {
		panic(fmt.Sprintf("the examples have %s, which is no route", request))
	}
	for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
		if op != nil && op.Method == method {
			return op
		}
	}
	panic(fmt.Sprintf("the examples have %s, which is no route", request))
}

// exampled reports whether routes of a path have examples.
func exampled(path string) bool {
	begins := func(prefix string) bool { return strings.HasPrefix(path, prefix) }
	return strings.Contains(path, "/observability/") ||
		slices.ContainsFunc([]string{"/iap/", "/delegation/", "/policies"}, begins)
}
