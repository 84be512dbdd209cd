package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"writ/internal/carrier"
)

// listPrompts lists the prompts of one server as it lists them, or those of all that the registry knows.
func (s *session) listPrompts(ctx context.Context, req *sdk.ListPromptsRequest) (*sdk.ListPromptsResult, error) {
	params := cmp.Or(req.Params, &sdk.ListPromptsParams{})
	by := s.saidOf(req, params.Meta)
	result := &sdk.ListPromptsResult{Cacheable: unshared(), Prompts: []*sdk.Prompt{}}
	if s.one != "" {
		ask := &sdk.ListPromptsParams{Cursor: params.Cursor}
		err := s.listOne(ctx, by, toolPrompt, func(ctx context.Context, up *sdk.ClientSession) error {
			listed, err := up.ListPrompts(ctx, ask)
			if err == nil {
				listed.Cacheable, result = unshared(), listed
			}
			return err
		})
		if carrier.IsUndecided(err) { // those that the registry knows are listed
			of, err := s.only(ctx)
			if err != nil {
				return nil, err
			}
			return of.knownPrompts(), nil
		}
		return result, err
	}
	all, _, err := s.offers(ctx)
	if err != nil {
		return nil, err
	}
	may := map[*offered]bool{}
	for _, of := range all.servers {
		if may[of], err = s.mayEver(ctx, by, of.Name, toolPrompt); err != nil {
			return nil, err
		}
	}
	for _, prompt := range all.prompts {
		if may[prompt.of] {
			result.Prompts = append(result.Prompts, prompt.shown())
		}
	}
	slices.SortFunc(result.Prompts, func(a, b *sdk.Prompt) int { return strings.Compare(a.Name, b.Name) })
	result.Prompts, result.NextCursor, err = pageOf(result.Prompts, params.Cursor,
		func(p *sdk.Prompt) string { return p.Name })
	return result, err
}

// knownPrompts are those that the registry knows of a server, under their own names.
func (o *offered) knownPrompts() *sdk.ListPromptsResult {
	result := &sdk.ListPromptsResult{Cacheable: unshared(), Prompts: []*sdk.Prompt{}}
	for _, prompt := range o.About.Prompts {
		result.Prompts = append(result.Prompts, (&offeredPrompt{Prompt: prompt, of: o, public: prompt.Name}).shown())
	}
	return result
}

func (p *offeredPrompt) shown() *sdk.Prompt {
	shown := &sdk.Prompt{Name: p.public, Title: p.Title, Description: p.Description}
	for _, a := range p.Arguments {
		shown.Arguments = append(shown.Arguments, &sdk.PromptArgument{
			Name: a.Name, Title: a.Title, Description: a.Description, Required: a.Required,
		})
	}
	return shown
}

// listOne asks the one server of the session for a list, unless nothing of the kind could ever be allowed: the list
// stays empty then.
func (s *session) listOne(
	ctx context.Context, by said, kind string, list func(ctx context.Context, up *sdk.ClientSession) error,
) error {
	of, err := s.only(ctx)
	if err != nil {
		return err
	}
	if may, err := s.mayEver(ctx, by, of.Name, kind); err != nil || !may {
		return err
	}
	return s.pass(ctx, of, list)
}

// pass asks a server something that nobody has to decide about.
func (s *session) pass(
	ctx context.Context, of *offered, do func(ctx context.Context, up *sdk.ClientSession) error,
) error {
	l, err := s.link(ctx, of)
	if err != nil {
		return err
	}
	return l.ask(ctx, nil, func(ctx context.Context, up *sdk.ClientSession, _ any) error { return do(ctx, up) })
}

// findPrompt is the server and the name there of the prompt that the client means.
func (s *session) findPrompt(ctx context.Context, name string) (*offered, string, error) {
	if s.one != "" {
		of, err := s.only(ctx)
		return of, name, err
	}
	all, _, err := s.offers(ctx)
	if err != nil {
		return nil, "", err
	}
	prompt := all.prompts[name]
	if prompt == nil {
		return nil, "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown prompt %q", name)}
	}
	return prompt.of, prompt.Name, nil
}

// getPrompt gets a prompt, if that is allowed.
func (s *session) getPrompt(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	p := req.Params
	return inRounds(ctx, s, round{
		method:    methodGetPrompt,
		subject:   p.Name,
		arguments: p.Arguments,
		said:      s.saidOf(req, p.Meta),
		answers:   p.InputResponses,
		state:     p.RequestState,
	}, func(ctx context.Context) (*sdk.GetPromptResult, error) {
		return s.getOnce(ctx, req)
	}, func(questions sdk.InputRequestMap, state string) *sdk.GetPromptResult {
		return &sdk.GetPromptResult{InputRequests: questions, RequestState: state}
	})
}

func (s *session) getOnce(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	of, name, err := s.findPrompt(ctx, req.Params.Name)
	if err != nil {
		return nil, err
	}
	given := req.Params.Arguments
	if given == nil {
		given = map[string]string{}
	}
	arguments, err := json.Marshal(m{"name": name, "arguments": given})
	if err != nil {
		return nil, err
	}
	result, refused, err := carried[*sdk.GetPromptResult](ctx, s, errand{
		req:       req,
		said:      s.saidOf(req, req.Params.Meta),
		token:     req.Params.GetProgressToken(),
		server:    of,
		tool:      toolPrompt,
		arguments: arguments,
		send: func(ctx context.Context, of *offered, _ jsontext.Value) (any, error) {
			return s.fetchPrompt(ctx, of, name, req.Params)
		},
	})
	if refused != nil {
		return nil, refused.asError()
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}

func (s *session) fetchPrompt(
	ctx context.Context, of *offered, name string, sent *sdk.GetPromptParams,
) (result *sdk.GetPromptResult, err error) {
	l, err := s.link(ctx, of)
	if err != nil {
		return nil, err
	}
	err = l.ask(ctx, sent.GetProgressToken(), func(ctx context.Context, up *sdk.ClientSession, token any) (err error) {
		params := &sdk.GetPromptParams{Name: name, Arguments: sent.Arguments}
		if token != nil {
			params.Meta = sdk.Meta{"progressToken": token}
		}
		result, err = up.GetPrompt(ctx, params)
		return err
	})
	return result, err
}
