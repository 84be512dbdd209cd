package gateway

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/enforcement"
	"writ/internal/mcp"
	"writ/internal/mcp/definition"
	"writ/internal/toolname"
)

// pageSize is how many things a page of a list has.
const pageSize = 1000

// The names under which policies see what is no tool. No tool of a server may have one.
const (
	reservedPrefix  = "mcp:"
	toolResource    = "mcp:resource"
	toolPrompt      = "mcp:prompt"
	toolSampling    = "mcp:sampling"
	toolElicitation = "mcp:elicitation"
	toolRoots       = "mcp:roots"
	toolCompletion  = "mcp:completion"
)

type m = map[string]any

var emptySchema = json.RawMessage(`{"type":"object"}`)

// only is the server of a session that is about one.
func (s *session) only(ctx context.Context) (*offered, error) {
	all, err := s.g.catalogueFor(ctx, s.caller)
	if err != nil {
		return nil, err
	}
	return s.onlyOf(all)
}

func (s *session) onlyOf(all *catalogue) (*offered, error) {
	if of := all.byID[s.one]; of != nil {
		return of, nil
	}
	return nil, &jsonrpc.Error{Code: codeUnreachable, Message: "the MCP server is not approved any more"}
}

// offers are the servers of the session.
func (s *session) offers(ctx context.Context) (*catalogue, []*offered, error) {
	all, err := s.g.catalogueFor(ctx, s.caller)
	if err != nil {
		return nil, nil, err
	}
	if s.one == "" {
		return all, all.servers, nil
	}
	of, err := s.onlyOf(all)
	return all, []*offered{of}, err
}

// listTools lists what people have accepted, as they accepted it, and what policy and plan could allow.
func (s *session) listTools(ctx context.Context, req *sdk.ListToolsRequest) (*sdk.ListToolsResult, error) {
	all, servers, err := s.offers(ctx)
	if err != nil {
		return nil, err
	}
	var accepted []*offeredTool
	var named []toolname.Name
	for _, of := range servers {
		for _, tool := range of.tools {
			if tool.State == mcp.Pinned && !strings.HasPrefix(tool.Name, reservedPrefix) &&
				(s.one != "" || all.tools[tool.public] == tool) {
				accepted, named = append(accepted, tool), append(named, toolname.Name{Server: of.Name, Tool: tool.Name})
			}
		}
	}
	params := cmp.Or(req.Params, &sdk.ListToolsParams{})
	seen, err := s.visible(ctx, s.saidOf(req, params.Meta), named)
	if err != nil {
		return nil, err
	}
	shown := []*sdk.Tool{}
	for i, tool := range accepted {
		if seen[i].Visible {
			shown = append(shown, s.shownTool(tool, seen[i].Redacted))
		}
	}
	slices.SortFunc(shown, func(a, b *sdk.Tool) int { return strings.Compare(a.Name, b.Name) })
	result := &sdk.ListToolsResult{Cacheable: unshared()}
	result.Tools, result.NextCursor, err = pageOf(shown, params.Cursor, func(t *sdk.Tool) string { return t.Name })
	s.promise(result.Tools)
	return result, err
}

// unshared is what is said of results that depend on who asks, and on policies that may change at any time.
func unshared() sdk.Cacheable { return sdk.Cacheable{CacheScope: "private"} }

// visible reports what a caller could ever be allowed, and how.
func (s *session) visible(ctx context.Context, of said, named []toolname.Name) ([]enforcement.Sight, error) {
	return s.g.Decisions.Visible(ctx, s.caller, s.request(of), named)
}

// mayEver reports whether something that is no tool could ever be allowed of a server.
func (s *session) mayEver(ctx context.Context, of said, server, tool string) (bool, error) {
	seen, err := s.visible(ctx, of, []toolname.Name{{Server: server, Tool: tool}})
	return err == nil && seen[0].Visible, err
}

// shownTool is a tool as the client sees it. Where members of its results may be left out it promises no form of them:
// clients refuse a result that has another form than was promised, after the tool has run.
func (s *session) shownTool(t *offeredTool, redacted bool) *sdk.Tool {
	shown := toolOf(t.Accepted.Tool)
	if redacted {
		shown.OutputSchema = nil
	}
	if s.one == "" {
		shown.Name = t.public
	}
	return shown
}

func toolOf(t definition.Tool) *sdk.Tool {
	shown := &sdk.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: emptySchema}
	if len(t.InputSchema) > 0 {
		shown.InputSchema = json.RawMessage(t.InputSchema)
	}
	if len(t.OutputSchema) > 0 {
		shown.OutputSchema = json.RawMessage(t.OutputSchema)
	}
	if len(t.Annotations) > 0 {
		var hints sdk.ToolAnnotations
		if json.Unmarshal(t.Annotations, &hints) == nil { // a server that lies about types has no hints
			shown.Annotations = &hints
		}
	}
	return shown
}

// pageOf is a page of a sorted list.
func pageOf[T any](all []T, cursor string, name func(T) string) (page []T, next string, err error) {
	from := 0
	if cursor != "" {
		last, err := base64.RawURLEncoding.DecodeString(cursor)
		if err != nil {
			return nil, "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "cursor: is not one of this list"}
		}
		from = slices.IndexFunc(all, func(t T) bool { return name(t) > string(last) })
		if from < 0 {
			from = len(all)
		}
	}
	page = all[from:]
	if len(page) > pageSize {
		page = page[:pageSize]
		next = base64.RawURLEncoding.EncodeToString([]byte(name(page[pageSize-1])))
	}
	return page, next, nil
}
