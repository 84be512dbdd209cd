package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/yosida95/uritemplate/v3"

	"writ/internal/carrier"
	"writ/internal/mcp/definition"
	"writ/internal/mcp/upstream"
)

// listResources lists the resources of one server as it lists them, or those of all that the registry knows.
func (s *session) listResources(ctx context.Context, req *sdk.ListResourcesRequest) (*sdk.ListResourcesResult, error) {
	params := cmp.Or(req.Params, &sdk.ListResourcesParams{})
	by := s.saidOf(req, params.Meta)
	result := &sdk.ListResourcesResult{Cacheable: unshared(), Resources: []*sdk.Resource{}}
	if s.one != "" {
		ask := &sdk.ListResourcesParams{Cursor: params.Cursor}
		err := s.listOne(ctx, by, toolResource, func(ctx context.Context, up *sdk.ClientSession) error {
			listed, err := up.ListResources(ctx, ask)
			if err == nil {
				listed.Cacheable, result = unshared(), listed
			}
			return err
		})
		if !carrier.IsUndecided(err) { // else those that the registry knows are listed
			return result, err
		}
	}
	found, err := s.known(ctx, by, func(of *offered) []definition.Resource { return of.About.Resources })
	if err != nil {
		return nil, err
	}
	for _, r := range found {
		result.Resources = append(result.Resources, &sdk.Resource{
			URI:         r.URI,
			Name:        r.Name,
			Title:       r.Title,
			Description: r.Description,
			MIMEType:    r.MIMEType,
		})
	}
	slices.SortStableFunc(result.Resources, func(a, b *sdk.Resource) int { return strings.Compare(a.URI, b.URI) })
	result.Resources, result.NextCursor, err = pageOf(result.Resources, params.Cursor,
		func(r *sdk.Resource) string { return r.URI })
	return result, err
}

// listTemplates is listResources for templates.
func (s *session) listTemplates(
	ctx context.Context, req *sdk.ListResourceTemplatesRequest,
) (*sdk.ListResourceTemplatesResult, error) {
	params := cmp.Or(req.Params, &sdk.ListResourceTemplatesParams{})
	by := s.saidOf(req, params.Meta)
	result := &sdk.ListResourceTemplatesResult{
		Cacheable: unshared(), ResourceTemplates: []*sdk.ResourceTemplate{},
	}
	if s.one != "" {
		ask := &sdk.ListResourceTemplatesParams{Cursor: params.Cursor}
		err := s.listOne(ctx, by, toolResource, func(ctx context.Context, up *sdk.ClientSession) error {
			listed, err := up.ListResourceTemplates(ctx, ask)
			if err == nil {
				listed.Cacheable, result = unshared(), listed
			}
			return err
		})
		if !carrier.IsUndecided(err) { // else those that the registry knows are listed
			return result, err
		}
	}
	found, err := s.known(ctx, by, func(of *offered) []definition.Resource { return of.About.Templates })
	if err != nil {
		return nil, err
	}
	for _, r := range found {
		result.ResourceTemplates = append(result.ResourceTemplates, &sdk.ResourceTemplate{
			URITemplate: r.URITemplate,
			Name:        r.Name,
			Title:       r.Title,
			Description: r.Description,
			MIMEType:    r.MIMEType,
		})
	}
	uri := func(r *sdk.ResourceTemplate) string { return r.URITemplate }
	slices.SortStableFunc(result.ResourceTemplates, func(a, b *sdk.ResourceTemplate) int {
		return strings.Compare(uri(a), uri(b))
	})
	result.ResourceTemplates, result.NextCursor, err = pageOf(result.ResourceTemplates, params.Cursor, uri)
	return result, err
}

// known are the resources that the registry knows of the servers whose resources could ever be allowed.
func (s *session) known(
	ctx context.Context, by said, of func(*offered) []definition.Resource,
) (found []definition.Resource, err error) {
	_, servers, err := s.offers(ctx)
	if err != nil {
		return nil, err
	}
	for _, server := range servers {
		may, err := s.mayEver(ctx, by, server.Name, toolResource)
		if err != nil {
			return nil, err
		}
		if may {
			found = append(found, of(server)...)
		}
	}
	return found, nil
}

// findResource is the server of the resource that the client means. Among all servers it must be the only one that
// lists the resource or a template of it: nobody could tell which is meant.
func (s *session) findResource(ctx context.Context, uri string) (*offered, error) {
	if s.one != "" {
		return s.only(ctx)
	}
	all, _, err := s.offers(ctx)
	if err != nil {
		return nil, err
	}
	listed, matching := ownersOf(all.servers, uri)
	owners := listed
	if len(owners) == 0 {
		owners = matching
	}
	switch len(owners) {
	case 0:
		return nil, sdk.ResourceNotFoundError(uri)
	case 1:
		return owners[0], nil
	}
	return nil, &jsonrpc.Error{
		Code:    jsonrpc.CodeInvalidParams,
		Message: "several MCP servers have this resource: read it at the path of one of them",
	}
}

// ownersOf are the servers that list a resource, and those with a template that it fits.
func ownersOf(servers []*offered, uri string) (listed, matching []*offered) {
	for _, of := range servers {
		has := func(r definition.Resource) bool { return r.URI == uri || r.URITemplate == uri }
		if slices.ContainsFunc(of.About.Resources, has) || slices.ContainsFunc(of.About.Templates, has) {
			listed = append(listed, of)
			continue
		}
		suits := func(r definition.Resource) bool { return fits(r.URITemplate, uri) }
		if slices.ContainsFunc(of.About.Templates, suits) {
			matching = append(matching, of)
		}
	}
	return listed, matching
}

func fits(template, uri string) bool {
	parsed, err := uritemplate.New(template)
	return err == nil && parsed.Regexp().MatchString(uri)
}

// readResource reads a resource, if that is allowed.
func (s *session) readResource(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	p := req.Params
	return inRounds(ctx, s, round{
		method:  methodReadResource,
		subject: p.URI,
		said:    s.saidOf(req, p.Meta),
		answers: p.InputResponses,
		state:   p.RequestState,
	}, func(ctx context.Context) (*sdk.ReadResourceResult, error) {
		return s.readOnce(ctx, req)
	}, func(questions sdk.InputRequestMap, state string) *sdk.ReadResourceResult {
		return &sdk.ReadResourceResult{Cacheable: unshared(), InputRequests: questions, RequestState: state}
	})
}

func (s *session) readOnce(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	of, err := s.findResource(ctx, req.Params.URI)
	if err != nil {
		return nil, err
	}
	about, err := s.aboutResource(req, of, req.Params)
	if err != nil {
		return nil, err
	}
	about.send = func(ctx context.Context, of *offered, _ jsontext.Value) (any, error) {
		return s.fetchResource(ctx, of, req.Params)
	}
	result, refused, err := carried[*sdk.ReadResourceResult](ctx, s, about)
	if refused != nil {
		return nil, refused.asError()
	}
	if err != nil {
		return nil, err
	}
	result.Cacheable = unshared()
	return result, nil
}

// aboutResource is an errand about a resource.
func (s *session) aboutResource(req sdk.Request, of *offered, sent *sdk.ReadResourceParams) (errand, error) {
	arguments, err := json.Marshal(m{"uri": sent.URI})
	return errand{
		req:       req,
		said:      s.saidOf(req, sent.Meta),
		token:     sent.GetProgressToken(),
		server:    of,
		tool:      toolResource,
		arguments: arguments,
	}, err
}

func (s *session) fetchResource(
	ctx context.Context, of *offered, sent *sdk.ReadResourceParams,
) (result *sdk.ReadResourceResult, err error) {
	l, err := s.link(ctx, of)
	if err != nil {
		return nil, err
	}
	err = l.ask(ctx, sent.GetProgressToken(), func(ctx context.Context, up *sdk.ClientSession, token any) (err error) {
		params := &sdk.ReadResourceParams{URI: sent.URI}
		if token != nil {
			params.Meta = sdk.Meta{"progressToken": token}
		}
		result, err = up.ReadResource(ctx, params)
		return err
	})
	return result, err
}

// subscribe lets the client be told when a resource changes, if it may read it.
func (s *session) subscribe(
	ctx context.Context, req *sdk.SubscribeRequest, next sdk.MethodHandler,
) (sdk.Result, error) {
	of, err := s.findResource(ctx, req.Params.URI)
	if err != nil {
		return nil, err
	}
	about, err := s.aboutResource(req, of, &sdk.ReadResourceParams{Meta: req.Params.Meta, URI: req.Params.URI})
	if err != nil {
		return nil, err
	}
	about.send = func(ctx context.Context, of *offered, _ jsontext.Value) (any, error) {
		if s.g.Carrier.IsForOneCall(ctx) {
			return nil, &upstream.Failure{
				Kind: upstream.Refused, Server: of.Name, Reason: "this proxy keeps no session with it beyond a call",
			}
		}
		return carrier.Done{}, s.pass(ctx, of, func(ctx context.Context, up *sdk.ClientSession) error {
			return up.Subscribe(ctx, &sdk.SubscribeParams{URI: req.Params.URI})
		})
	}
	_, refused, err := s.carry(ctx, about)
	if refused != nil {
		return nil, refused.asError()
	}
	if err != nil {
		return nil, err
	}
	return next(ctx, methodSubscribe, req)
}

// unsubscribe ends that. Nobody has to decide about it.
func (s *session) unsubscribe(
	ctx context.Context, req *sdk.UnsubscribeRequest, next sdk.MethodHandler,
) (sdk.Result, error) {
	of, err := s.findResource(ctx, req.Params.URI)
	if err != nil {
		return nil, err
	}
	err = s.pass(ctx, of, func(ctx context.Context, up *sdk.ClientSession) error {
		return up.Unsubscribe(ctx, &sdk.UnsubscribeParams{URI: req.Params.URI})
	})
	if err != nil {
		return nil, err
	}
	return next(ctx, methodUnsubscribe, req)
}
