package oauth

import (
	"context"
	"time"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/oauth"
	"writ/internal/page"
	"writ/internal/principal"
	"writ/internal/throttle"
)

// mountConsent serves the consent page. It calls with the person's access token, which no other site can send.
func (h *Handlers) mountConsent(r *route.Router) {
	person := func(rt route.Route) route.Route {
		return rt.For(route.Person).LimitedToo().Throttled(throttle.AnswerClient)
	}
	route.Handle(r, person(route.Get("/oauth/request",
		"What an OAuth client asks for, and the agents that the person may let it act as")), h.request)
	route.Handle(r, person(route.Post("/oauth/approve", "Let an OAuth client act as an agent")).
		Records("consent.given").Configures().AsksAgain(), h.approve)
	route.Handle(r, person(route.Post("/oauth/deny", "Refuse an OAuth client")).
		Records("consent.denied").Configures(), h.deny)
}

// ClientRequestBody is what a client asks for. Its name is what it says of itself.
type ClientRequestBody struct {
	ClientID      string              `json:"clientId"`
	ClientName    string              `json:"clientName" doc:"As the client says; nobody has checked it."`
	Document      string              `json:"document" doc:"The host whose document describes the client. Empty: it registered itself."`
	RedirectHost  string              `json:"redirectHost" doc:"Whom the answer goes to."`
	Local         bool                `json:"local" doc:"The answer goes to a program on the person's own machine."`
	Resource      string              `json:"resource" doc:"The address of the proxy that its tokens are good for."`
	Organizations []ConsentChoice     `json:"organizations" nullable:"false" doc:"Where the person may consent."`
	Refused       *RefusedRequestBody `json:"refused,omitempty" doc:"The request is wrong, and the client may be told; nothing else is set then."`
}

// ConsentChoice is an organization with the agents that a client may act as.
type ConsentChoice struct {
	ID     string               `json:"id" format:"uuid"`
	Name   string               `json:"name"`
	Agents []ConsentChoiceAgent `json:"agents" nullable:"false" doc:"200 at most."`
}

// ConsentChoiceAgent is one of these agents.
type ConsentChoiceAgent struct {
	AgentID string `json:"agentId"`
	Name    string `json:"name"`
	Bound   bool   `json:"bound" doc:"Keys are bound to it. If none are, the consent binds the first, and its id no longer counts with others."`
}

// RefusedRequestBody says why a request cannot be answered.
type RefusedRequestBody struct {
	Reason   string `json:"reason"`
	ReturnTo string `json:"returnTo" doc:"The client's address, with the refusal."`
}

type clientRequestInput struct {
	Request string `query:"request" required:"true" minLength:"1" maxLength:"8192" doc:"The query string that the client sent to /oauth/authorize."`
}

func (h *Handlers) request(
	ctx context.Context, caller principal.Principal, in *clientRequestInput,
) (ClientRequestBody, error) {
	request, err := h.OAuth.ReadRequest(ctx, in.Request)
	if refusal := oauth.RefusalOf(err); refusal != nil && refusal.ReturnTo != "" {
		return ClientRequestBody{
			Organizations: []ConsentChoice{},
			Refused:       &RefusedRequestBody{Reason: refusal.Description, ReturnTo: refusal.ReturnTo},
		}, nil
	}
	if err != nil {
		return ClientRequestBody{}, plain(err)
	}
	choices, err := h.choices(ctx, caller)
	return ClientRequestBody{
		ClientID:      request.Client.ID,
		ClientName:    request.Client.Name,
		Document:      request.Client.Document(),
		RedirectHost:  request.RedirectHost(),
		Local:         request.IsLocal(),
		Resource:      request.Resource,
		Organizations: choices,
	}, err
}

// plain is a refusal as the page understands it: a 401 would say that the person is not signed in.
func plain(err error) error {
	if refusal := oauth.RefusalOf(err); refusal != nil {
		return fault.Field("request", "%s", refusal.Description)
	}
	return err
}

// choices are the organizations where the person may have keys, with the agents that they may choose.
func (h *Handlers) choices(ctx context.Context, caller principal.Principal) ([]ConsentChoice, error) {
	mine, err := h.Gate.Mine(ctx, caller)
	if err != nil {
		return nil, err
	}
	choices := []ConsentChoice{}
	for _, m := range mine {
		inOrg, err := h.Gate.InOrganization(ctx, caller, m.ID)
		if fault.Is(err, fault.Forbidden) {
			continue // the organization wants another sign-in
		}
		if err != nil {
			return nil, err
		}
		if !inOrg.May(principal.OwnKeys) {
			continue
		}
		agents, err := h.Agents.Choices(ctx, inOrg)
		if err != nil {
			return nil, err
		}
		choice := ConsentChoice{ID: m.ID, Name: m.Name, Agents: []ConsentChoiceAgent{}}
		for _, a := range agents {
			shown := ConsentChoiceAgent{AgentID: a.ID, Name: a.Name, Bound: len(a.Keys) > 0}
			choice.Agents = append(choice.Agents, shown)
		}
		choices = append(choices, choice)
	}
	return choices, nil
}

// ConsentAnswerBody is where the page sends the browser: to the client, with the answer.
type ConsentAnswerBody struct {
	ReturnTo string `json:"returnTo"`
}

type approveClientInput struct {
	Body struct {
		Request        string `json:"request" minLength:"1" maxLength:"8192" doc:"The query string that the client sent to /oauth/authorize."`
		OrganizationID string `json:"organizationId,omitempty" maxLength:"100" doc:"Not needed by a person in only one organization."`
		AgentID        string `json:"agentId" minLength:"1" maxLength:"200" doc:"The registered agent that the client acts as. The person owns it, or manages agents."`
	}
}

func (h *Handlers) approve(
	ctx context.Context, caller principal.Principal, in *approveClientInput,
) (ConsentAnswerBody, error) {
	caller, err := h.Gate.InNamed(ctx, caller, in.Body.OrganizationID)
	if err != nil {
		return ConsentAnswerBody{}, err
	}
	to, err := h.OAuth.Approve(ctx, caller, in.Body.Request, in.Body.AgentID)
	return ConsentAnswerBody{to}, plain(err)
}

type denyClientInput struct {
	Body struct {
		Request string `json:"request" minLength:"1" maxLength:"8192" doc:"The query string that the client sent to /oauth/authorize."`
	}
}

func (h *Handlers) deny(
	ctx context.Context, caller principal.Principal, in *denyClientInput,
) (ConsentAnswerBody, error) {
	to, err := h.OAuth.Deny(ctx, caller, in.Body.Request)
	return ConsentAnswerBody{to}, plain(err)
}

// ConsentBody is a consent.
type ConsentBody struct {
	ID          string     `json:"id" format:"uuid"`
	OwnerID     string     `json:"ownerId" format:"uuid" doc:"Who consented."`
	AgentID     string     `json:"agentId"`
	KeyID       string     `json:"keyId" format:"uuid" doc:"The hidden key that decisions about the client are about. Nobody has its secret."`
	ClientID    string     `json:"clientId"`
	ClientName  string     `json:"clientName" doc:"As the client said; nobody has checked it."`
	RedirectURI string     `json:"redirectUri"`
	Resource    string     `json:"resource"`
	CreatedAt   time.Time  `json:"createdAt"`
	ExpiresAt   time.Time  `json:"expiresAt"`
	EndedAt     *time.Time `json:"endedAt"`
	EndedFor    string     `json:"endedFor" doc:"Why it ended. Empty: it has not."`
}

func consentBody(c oauth.Consent) ConsentBody {
	return ConsentBody{
		ID:          c.ID,
		OwnerID:     c.UserID,
		AgentID:     c.AgentID,
		KeyID:       c.KeyID,
		ClientID:    c.ClientID,
		ClientName:  c.ClientName,
		RedirectURI: c.RedirectURI,
		Resource:    c.Resource,
		CreatedAt:   c.CreatedAt,
		ExpiresAt:   c.ExpiresAt,
		EndedAt:     c.EndedAt,
		EndedFor:    c.EndedFor,
	}
}

type listConsentsInput struct {
	route.OrgInput
	route.PageInput
}

func (h *Handlers) list(
	ctx context.Context, caller principal.Principal, in *listConsentsInput,
) (page.Page[ConsentBody], error) {
	found, err := h.OAuth.List(ctx, caller, in.Cursor, in.Limit)
	return route.MapPage(found, consentBody), err
}

type consentInput struct {
	route.OrgInput
	ID string `path:"consentId" doc:"The consent."`
}

func (h *Handlers) end(ctx context.Context, caller principal.Principal, in *consentInput) (route.None, error) {
	return route.None{}, h.OAuth.End(ctx, caller, in.ID)
}
