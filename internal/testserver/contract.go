package testserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// contract is the transport of every client of a test server. It holds each JSON answer against what /openapi.json says
// of its route and status, once the answer was read to its end.
type contract struct {
	server *Server
	next   http.RoundTripper
}

// transport checks what it carries.
func (s *Server) transport(next http.RoundTripper) http.RoundTripper { return &contract{s, next} }

// RoundTrip sends a request and has its answer checked.
func (c *contract) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(request)
	if err != nil || request.Method == http.MethodHead ||
		"http://"+request.URL.Host != c.server.Public.BaseURL {
		return response, err
	}
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		return response, nil
	}
	response.Body = &checkedBody{ReadCloser: response.Body, check: func(body []byte) {
		if problem := c.server.problemOf(request, response.StatusCode, body); problem != nil {
			c.server.T.Errorf("%s %s: %d is not as documented: %v\n%.600s", request.Method, request.URL.Path,
				response.StatusCode, problem, body)
		}
	}}
	return response, nil
}

// maxChecked limits the answers that are checked, in bytes: the long ones are exports, which other tests read.
const maxChecked = 4 << 20

// checkedBody keeps what is read of an answer, and checks it at its end.
type checkedBody struct {
	io.ReadCloser
	read  bytes.Buffer
	check func(body []byte)
}

// Read reads on.
func (b *checkedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.check == nil {
		return n, err
	}
	if b.read.Write(p[:n]); b.read.Len() > maxChecked {
		b.check = nil
	} else if err == io.EOF {
		b.check(b.read.Bytes())
		b.check = nil
	}
	return n, err
}

// problemOf is how an answer differs from the document; nil: it does not, or the path is no route of the API.
func (s *Server) problemOf(request *http.Request, status int, body []byte) error {
	document, err := s.document()
	if err != nil || document == nil {
		return err
	}
	schema, err := document.schemaOf(request, status)
	if err != nil || schema == nil {
		return err
	}
	answer, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return schema.Validate(answer)
}

// documentURL names the document among schemas.
const documentURL = "writ:openapi.json"

// apiDocument is what /openapi.json says. It is read once for all servers of a program, which serve the same.
type apiDocument struct {
	mu       sync.Mutex
	mux      *http.ServeMux // finds the route of a request as the server does
	paths    map[string]map[string]json.RawMessage
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

var documents struct {
	sync.Mutex
	read *apiDocument
}

// document is nil where a server shows none.
func (s *Server) document() (*apiDocument, error) {
	documents.Lock()
	defer documents.Unlock()
	if documents.read != nil {
		return documents.read, nil
	}
	response, err := http.Get(s.Public.BaseURL + "/openapi.json")
	if err != nil {
		return nil, nil // a server with TLS, or one that is stopping
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, nil
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, nil
	}
	documents.read, err = readDocument(text)
	return documents.read, err
}

func readDocument(text []byte) (*apiDocument, error) {
	d := &apiDocument{
		mux: http.NewServeMux(), compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{},
	}
	var outline struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &outline); err != nil {
		return nil, err
	}
	d.paths = outline.Paths
	for path, operations := range d.paths {
		for method := range operations {
			d.mux.HandleFunc(strings.ToUpper(method)+" "+path, http.NotFound)
		}
	}
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	closeSchemas(whole)
	return d, d.compiler.AddResource(documentURL, whole)
}

// closeSchemas makes every described object refuse members that are not described: an answer has none. The document
// itself leaves them open, so that clients are ready for more.
func closeSchemas(value any) {
	switch v := value.(type) {
	case map[string]any:
		if _, described := v["properties"].(map[string]any); described && v["additionalProperties"] == true {
			v["additionalProperties"] = false
		}
		for _, member := range v {
			closeSchemas(member)
		}
	case []any:
		for _, item := range v {
			closeSchemas(item)
		}
	}
}

// schemaOf is what the document says of an answer with a status. Paths that are no routes have none.
func (d *apiDocument) schemaOf(request *http.Request, status int) (*jsonschema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, pattern := d.mux.Handler(request)
	method, path, ok := strings.Cut(pattern, " ")
	if !ok {
		return nil, nil
	}
	var operation struct {
		Responses map[string]struct {
			Content map[string]json.RawMessage
		}
	}
	if err := json.Unmarshal(d.paths[path][strings.ToLower(method)], &operation); err != nil {
		return nil, err
	}
	code := strconv.Itoa(status)
	if _, documented := operation.Responses[code]; !documented && status >= http.StatusBadRequest {
		code = "default"
	}
	if operation.Responses[code].Content["application/json"] == nil {
		return nil, fmt.Errorf("the document knows no such JSON answer of %s", pattern)
	}
	escaped := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(path)
	at := fmt.Sprintf("%s#/paths/%s/%s/responses/%s/content/application~1json/schema", documentURL, escaped,
		strings.ToLower(method), code)
	if d.compiled[at] == nil {
		schema, err := d.compiler.Compile(at)
		if err != nil {
			return nil, err
		}
		d.compiled[at] = schema
	}
	return d.compiled[at], nil
}
