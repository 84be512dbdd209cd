// Package discovery asks an MCP server what it offers: its tools, prompts, resources and instructions.
//
// The official SDK speaks the protocol. What is kept is the JSON that the server sent, and not what the SDK made of it,
// because a pin must cover every member that a client may act on. A server is not trusted: what it sends is limited in
// bytes, pages and time, it is asked nothing else, and it gets no answers to requests of its own.
package discovery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/mcp/definition"
)

// Limits of one discovery.
const (
	MaxBytes = 2 * definition.MaxBytes // of all answers, with what surrounds the lists in them
	MaxTime  = 20 * time.Second
	maxPages = 200 // of one list
)

// Target is a server to ask.
type Target struct {
	URL       string
	Transport string      // definition.HTTP or definition.SSE; empty: the first, then the second
	Header    http.Header // sent to this server alone
}

// Unreadable says that a server answered, and that nobody can tell from its answer what it offers.
type Unreadable struct{ Reason string }

func (u *Unreadable) Error() string { return u.Reason }

// Unreachable says that a server did not answer. Cause is for the operator's log.
type Unreachable struct {
	Reason  string
	Refused bool // it answers, and refuses the credentials
	Cause   error
}

func (u *Unreachable) Error() string { return u.Reason }

func (u *Unreachable) Unwrap() error { return u.Cause }

// List asks a server by HTTP. Requests go through next, which says what may be called. The error is an
// [Unreadable] or an [Unreachable].
func List(ctx context.Context, next http.RoundTripper, t Target) (definition.Server, error) {
	ctx, cancel := context.WithTimeout(ctx, MaxTime)
	defer cancel()
	transports := []string{t.Transport}
	if t.Transport == "" {
		transports = []string{definition.HTTP, definition.SSE}
	}
	var found definition.Server
	var err error
	for _, transport := range transports {
		if found, err = listBy(ctx, next, t, transport); err == nil {
			break
		}
	}
	found.URL = t.URL
	return found, err
}

func listBy(ctx context.Context, next http.RoundTripper, t Target, transport string) (definition.Server, error) {
	home, err := url.Parse(t.URL)
	if err != nil {
		return definition.Server{}, &Unreachable{Reason: "the URL cannot be read"}
	}
	web := &recorder{next: next, home: home, header: t.Header}
	client := &http.Client{
		Transport:     web,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var by mcp.Transport = &mcp.StreamableClientTransport{
		Endpoint:             t.URL,
		HTTPClient:           client,
		MaxRetries:           -1,
		DisableStandaloneSSE: true,
		MaxEventSize:         MaxBytes,
	}
	if transport == definition.SSE {
		by = &mcp.SSEClientTransport{Endpoint: t.URL, HTTPClient: client, MaxEventSize: MaxBytes}
	}
	asked, err := ask(ctx, by)
	if err != nil {
		return definition.Server{}, web.explain(err, ctx.Err() != nil)
	}
	found, err := asked.read(web.messages())
	found.Transport = transport
	return found, err
}

// asked is what was asked of a server.
type asked struct {
	instructions string
	info         *mcp.Implementation
	partial      bool
}

// ask connects to a server and reads all its lists. What it answered is in the record of the transport.
func ask(ctx context.Context, by mcp.Transport) (asked, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "writ", Version: "1"},
		&mcp.ClientOptions{Capabilities: agentAbilities()})
	session, err := client.Connect(ctx, by, nil)
	if err != nil {
		return asked{}, err
	}
	defer func() { _ = session.Close() }() // what it offers is known by then
	var a asked
	hello := session.InitializeResult()
	a.instructions, a.info = hello.Instructions, hello.ServerInfo
	if hello.Capabilities == nil {
		return a, nil
	}
	if hello.Capabilities.Tools != nil {
		if err := a.tools(ctx, session); err != nil {
			return asked{}, err
		}
	}
	if hello.Capabilities.Prompts != nil {
		if err := a.prompts(ctx, session); err != nil {
			return asked{}, err
		}
	}
	if hello.Capabilities.Resources != nil {
		err = errors.Join(a.resources(ctx, session), a.templates(ctx, session))
	}
	return a, err
}

// agentAbilities are what clients of agents can do. Some servers list tools only for clients that can do something, and
// what is not listed here is not pinned. What such a server then asks is refused.
func agentAbilities() *mcp.ClientCapabilities {
	return &mcp.ClientCapabilities{
		RootsV2:  &mcp.RootCapabilities{},
		Sampling: &mcp.SamplingCapabilities{},
		Elicitation: &mcp.ElicitationCapabilities{
			Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{},
		},
	}
}

// tooMany says that a server lists more than is read.
func tooMany(what string, most int) error {
	return &Unreadable{Reason: fmt.Sprintf("the server lists more than %d %s, or more than %d pages of them",
		most, what, maxPages)}
}

// tools reads all pages of tools. More than are permitted are an error: what is not read cannot be pinned.
func (a *asked) tools(ctx context.Context, session *mcp.ClientSession) error {
	count := 0
	params := &mcp.ListToolsParams{}
	for range maxPages {
		page, err := session.ListTools(ctx, params)
		if err != nil {
			return err
		}
		if count += len(page.Tools); count > definition.MaxTools {
			return tooMany("tools", definition.MaxTools)
		}
		if page.NextCursor == "" {
			return nil
		}
		params = &mcp.ListToolsParams{Cursor: page.NextCursor}
	}
	return tooMany("tools", definition.MaxTools)
}

func (a *asked) prompts(ctx context.Context, session *mcp.ClientSession) error {
	count := 0
	params := &mcp.ListPromptsParams{}
	for range maxPages {
		page, err := session.ListPrompts(ctx, params)
		if err != nil {
			return err
		}
		if count += len(page.Prompts); page.NextCursor == "" || count >= definition.MaxPrompts {
			a.partial = a.partial || page.NextCursor != "" || count > definition.MaxPrompts
			return nil
		}
		params = &mcp.ListPromptsParams{Cursor: page.NextCursor}
	}
	a.partial = true
	return nil
}

func (a *asked) resources(ctx context.Context, session *mcp.ClientSession) error {
	count := 0
	params := &mcp.ListResourcesParams{}
	for range maxPages {
		page, err := session.ListResources(ctx, params)
		if err != nil {
			return err
		}
		if count += len(page.Resources); page.NextCursor == "" || count >= definition.MaxResources {
			a.partial = a.partial || page.NextCursor != "" || count > definition.MaxResources
			return nil
		}
		params = &mcp.ListResourcesParams{Cursor: page.NextCursor}
	}
	a.partial = true
	return nil
}

func (a *asked) templates(ctx context.Context, session *mcp.ClientSession) error {
	count := 0
	params := &mcp.ListResourceTemplatesParams{}
	for range maxPages {
		page, err := session.ListResourceTemplates(ctx, params)
		if err != nil {
			return nil // a server with resources need not know templates
		}
		if count += len(page.ResourceTemplates); page.NextCursor == "" || count >= definition.MaxResources {
			a.partial = a.partial || page.NextCursor != "" || count > definition.MaxResources
			return nil
		}
		params = &mcp.ListResourceTemplatesParams{Cursor: page.NextCursor}
	}
	a.partial = true
	return nil
}

// read makes a definition of what the server answered.
func (a *asked) read(answers map[string][][]byte) (definition.Server, error) {
	found := definition.Server{Instructions: a.instructions, Partial: a.partial}
	if a.info != nil {
		found.Name, found.Title, found.Version = a.info.Name, a.info.Title, a.info.Version
	}
	for _, method := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
		for _, raw := range answers[method] {
			page, err := definition.Parse(raw)
			if err != nil {
				return definition.Server{}, &Unreadable{
					Reason: "the answer to " + method + " cannot be read: " + err.Error(),
				}
			}
			found.Tools = append(found.Tools, page.Tools...)
			found.Prompts = append(found.Prompts, page.Prompts...)
			found.Resources = append(found.Resources, page.Resources...)
			found.Templates = append(found.Templates, page.Templates...)
		}
	}
	found.Prompts = found.Prompts[:min(len(found.Prompts), definition.MaxPrompts)]
	found.Resources = found.Resources[:min(len(found.Resources), definition.MaxResources)]
	found.Templates = found.Templates[:min(len(found.Templates), definition.MaxResources)]
	// Another order of the list is no other server.
	slices.SortStableFunc(found.Tools, func(a, b definition.Tool) int { return compareText(a.Name, b.Name) })
	if err := found.Check(); err != nil {
		return definition.Server{}, &Unreadable{Reason: err.Error()}
	}
	return found, nil
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
