package policies

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/page"
	"writ/internal/policy"
	"writ/internal/policy/document"
	"writ/internal/policy/profile"
	"writ/internal/principal"
)

// profilePaths begins the paths under which plugins stage profiles.
const profilePaths = "/policies/profiles/"

// ProfileErrorBody is an error of a profile route. If the body is not valid, it lists every problem: plugins print
// that and do not read details.
type ProfileErrorBody struct {
	route.ErrorBody
	Message problems `json:"message"`
}

type problems []string

// Schema documents that the error is one text if the body is valid.
func (problems) Schema(huma.Registry) *huma.Schema {
	text := &huma.Schema{Type: huma.TypeString}
	return &huma.Schema{
		Description: "If the body is not valid, every problem with its path; else one text.",
		OneOf:       []*huma.Schema{{Type: huma.TypeArray, Items: text}, text},
	}
}

var profileErrors = route.Shape{
	Matches: func(path string) bool { return strings.HasPrefix(path, profilePaths) },
	Of: func(_ error, body route.ErrorBody) any {
		if body.Details == nil {
			return nil
		}
		shaped := ProfileErrorBody{ErrorBody: body}
		for _, d := range body.Details {
			shaped.Message = append(shaped.Message, d.Field+": "+d.Message)
		}
		return shaped
	},
	Documented: ProfileErrorBody{},
}

func (h *Handlers) mountProfiles(r *route.Router) {
	r.ShapeErrors(profileErrors)
	route.Handle(r, propose(route.Put("/policies/profiles/draft", "Stage a profile instead of the caller's last one")).
		Unrecorded(), h.stageProfile)
	op := r.OpenAPI().Paths["/policies/profiles/draft"].Put
	op.RequestBody.Required, op.RequestBody.Content = true, route.Content[StagingBody](r)
	route.Handle(r, propose(route.Post("/policies/profiles/propose", "Propose what the caller has staged")).
		Records("profile.proposed").Answers(http.StatusCreated), h.proposeProfile)
	route.Handle(r, route.Get("/policies/profiles/active", "The active profile").
		For(route.PersonOrKey).Needs(principal.ReadPolicies).Scoped(principal.Enforce).StoppedToo(), h.activeProfile)
	route.Handle(r, read(route.Get("/policies/profiles/proposals", "The proposals, newest first")), h.listProposals)
	route.Handle(r, read(route.Get("/policies/profiles/proposals/{id}", "A proposal, and what it means")),
		h.getProposal)
	route.Handle(r, draft(route.Delete("/policies/profiles/proposals/{id}", "Withdraw an open proposal")).
		Records("profile.withdrawn").Answers(http.StatusNoContent), h.withdrawProposal)
	route.Handle(r, manage(route.Post("/policies/profiles/confirm",
		"Activate a proposal, which replaces the active profile")).Records("profile.confirmed").AsksAgain(),
		h.confirmProfile)
	route.Handle(r, route.Get("/policies/profiles/template", "Profiles to begin with").
		For(route.PersonOrKey).Scoped(route.AnyScope), h.listProfileTemplates)
	route.Handle(r, route.Get("/policies/profiles/template/{name}", "A profile to begin with").
		For(route.PersonOrKey).Scoped(route.AnyScope), h.getProfileTemplate)
}

// StagingBody documents what a plugin sends. The handler reads it itself, so that it can report every problem with its
// path.
type StagingBody struct {
	Policy route.SentObject `json:"policy" doc:"A PolicyProfile of armor.policy.v1, or an equivalent list of rules."`
	OrgID  string           `json:"orgId,omitempty" doc:"The organization. Any but the caller's own is refused."`
}

// profileJSON is a profile as it is stored: canonical JSON.
type profileJSON jsontext.Value

// MarshalJSONTo writes the stored text, or null.
func (p profileJSON) MarshalJSONTo(to *jsontext.Encoder) error {
	if len(p) == 0 {
		return to.WriteToken(jsontext.Null)
	}
	return to.WriteValue(jsontext.Value(p))
}

// Schema documents that it is an object, not bytes.
func (profileJSON) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Nullable: true}
}

// StagedBody is a staged profile.
type StagedBody struct {
	Name   string      `json:"name"`
	Hash   string      `json:"hash" doc:"Hex SHA-256 of the profile in canonical JSON (RFC 8785)."`
	Policy profileJSON `json:"policy"`
}

type stageInput struct {
	route.OrganizationQuery
	DocumentInput
}

func (h *Handlers) stageProfile(ctx context.Context, caller principal.Principal, in *stageInput) (StagedBody, error) {
	source, err := in.source()
	if err != nil || source.Format != document.JSON {
		return StagedBody{}, fault.New(fault.Invalid, "send Content-Type: %s", route.JSONType)
	}
	sent, problems := profile.Read([]byte(source.Text))
	if problems != nil {
		return StagedBody{}, policy.ProfileFault(problems)
	}
	if err := requireOwn(caller, sent.OrgID); err != nil {
		return StagedBody{}, err
	}
	staged, err := h.Policies.StageProfile(ctx, caller, sent.Profile)
	return StagedBody{Name: staged.Name, Hash: staged.Hash, Policy: profileJSON(staged.Text)}, err
}

// requireOwn refuses a plugin that is set up for another organization than its key's, where its profile is not meant to
// apply.
func requireOwn(caller principal.Principal, orgID string) error {
	if orgID != "" && orgID != caller.OrgID {
		return fault.New(fault.Forbidden, "orgId: is not the organization of the caller")
	}
	return nil
}

// ListedProposalBody is a proposal in a list.
type ListedProposalBody struct {
	ID            string               `json:"id" format:"uuid"`
	PolicyID      string               `json:"policyId" format:"uuid" doc:"The policy that the proposal is a version of."`
	PolicyVersion int                  `json:"policyVersion"`
	Name          string               `json:"name"`
	Reason        string               `json:"reason"`
	Hash          string               `json:"hash" doc:"What a person confirms: hex SHA-256 of the profile in canonical JSON."`
	State         policy.ProposalState `json:"state" enum:"open,superseded,withdrawn,confirmed"`
	Active        bool                 `json:"active" doc:"Whether calls are judged by it now."`
	OwnerID       string               `json:"ownerId" format:"uuid" doc:"The person who proposed it, or whose key did."`
	ProposedBy    AuthorBody           `json:"proposedBy"`
	ProposedAt    time.Time            `json:"proposedAt"`
	DecidedBy     string               `json:"decidedBy" doc:"The person who confirmed or withdrew it; empty: none yet."`
	DecidedAt     *time.Time           `json:"decidedAt"`
}

// ProposalBody is a proposal with the profile itself.
type ProposalBody struct {
	ListedProposalBody
	Policy      profileJSON `json:"policy"`
	Explanation []string    `json:"explanation" nullable:"false" doc:"What happens if no statement matches, then what each statement does, in a sentence."`
}

func listedProposal(p policy.Proposal) ListedProposalBody {
	return ListedProposalBody{
		ID:            p.ID,
		PolicyID:      p.PolicyID,
		PolicyVersion: p.Version,
		Name:          p.Name,
		Reason:        p.Reason,
		Hash:          p.Hash,
		State:         p.State,
		Active:        p.Active,
		OwnerID:       p.OwnerID,
		ProposedBy:    AuthorBody(p.Author),
		ProposedAt:    p.ProposedAt,
		DecidedBy:     p.DecidedBy,
		DecidedAt:     p.DecidedAt,
	}
}

func showProposal(p policy.Proposal, err error) (ProposalBody, error) {
	if err != nil {
		return ProposalBody{}, err
	}
	read, err := p.Read()
	if err != nil {
		return ProposalBody{}, err
	}
	body := ProposalBody{
		ListedProposalBody: listedProposal(p), Policy: profileJSON(p.Text), Explanation: []string{read.DefaultWords()},
	}
	for i := range read.Statements {
		body.Explanation = append(body.Explanation, read.Statements[i].ID+": "+read.Statements[i].Words())
	}
	return body, nil
}

type proposeInput struct {
	route.OrganizationQuery
	Body struct {
		Reason string `json:"reason,omitempty" maxLength:"2000" doc:"Why, for the person who decides."`
		OrgID  string `json:"orgId,omitempty" maxLength:"500" doc:"The organization. Any but the caller's own is refused."`
	}
}

func (h *Handlers) proposeProfile(
	ctx context.Context, caller principal.Principal, in *proposeInput,
) (ProposalBody, error) {
	if err := requireOwn(caller, in.Body.OrgID); err != nil {
		return ProposalBody{}, err
	}
	return showProposal(h.Policies.ProposeProfile(ctx, caller, in.Body.Reason))
}

// ActiveProfileBody is the active profile.
type ActiveProfileBody struct {
	Version     int         `json:"version" doc:"The number of its confirmation; 0: none is active."`
	Policy      profileJSON `json:"policy" doc:"Null: none is active."`
	Hash        string      `json:"hash" doc:"Hex SHA-256 of the profile in canonical JSON; empty: none."`
	PolicyID    string      `json:"policyId"`
	ConfirmedAt *time.Time  `json:"confirmedAt"`
}

func (h *Handlers) activeProfile(
	ctx context.Context, caller principal.Principal, _ *route.OrganizationQuery,
) (ActiveProfileBody, error) {
	active, err := h.Policies.ActiveProfile(ctx, caller)
	if err != nil || active == nil {
		return ActiveProfileBody{}, err
	}
	if _, err := active.Read(); err != nil {
		return ActiveProfileBody{}, err
	}
	return ActiveProfileBody{
		Version:     active.Confirmation,
		Policy:      profileJSON(active.Text),
		Hash:        active.Hash,
		PolicyID:    active.PolicyID,
		ConfirmedAt: active.DecidedAt,
	}, nil
}

type listProposalsInput struct {
	route.OrganizationQuery
	route.PageInput
	State string `query:"state" enum:"open,superseded,withdrawn,confirmed" doc:"Only proposals in this state."`
}

func (h *Handlers) listProposals(
	ctx context.Context, caller principal.Principal, in *listProposalsInput,
) (page.Page[ListedProposalBody], error) {
	proposals, err := h.Policies.Proposals(ctx, caller, policy.ProposalState(in.State), in.Cursor, in.Limit)
	return route.MapPage(proposals, listedProposal), err
}

// ProposalInput is the path of a route about one proposal.
type ProposalInput struct {
	route.OrganizationQuery
	ID string `path:"id" doc:"The proposal."`
}

func (h *Handlers) getProposal(
	ctx context.Context, caller principal.Principal, in *ProposalInput,
) (ProposalBody, error) {
	return showProposal(h.Policies.Proposal(ctx, caller, in.ID))
}

func (h *Handlers) withdrawProposal(
	ctx context.Context, caller principal.Principal, in *ProposalInput,
) (route.None, error) {
	return route.None{}, h.Policies.WithdrawProposal(ctx, caller, in.ID)
}

type confirmInput struct {
	route.OrganizationQuery
	Body struct {
		ProposalID string `json:"proposalId" minLength:"1" maxLength:"100"`
		Hash       string `json:"hash" pattern:"^[0-9A-Fa-f]{64}$" patternDescription:"the 64 hex digits of the proposal's hash" doc:"The hash of the proposal as the person read it; 409 if it is another."`
	}
}

func (h *Handlers) confirmProfile(
	ctx context.Context, caller principal.Principal, in *confirmInput,
) (ProposalBody, error) {
	return showProposal(h.Policies.ConfirmProfile(ctx, caller, in.Body.ProposalID, in.Body.Hash))
}

// ProfileTemplateBody is a profile to begin with.
type ProfileTemplateBody struct {
	Name        string      `json:"name"`
	Title       string      `json:"title"`
	Description string      `json:"description"`
	Policy      profileJSON `json:"policy"`
}

func profileTemplate(t profile.Template) (ProfileTemplateBody, error) {
	form, err := t.Profile.Form()
	return ProfileTemplateBody{
		Name: t.Name, Title: t.Title, Description: t.Profile.Description, Policy: profileJSON(form),
	}, err
}

func (h *Handlers) listProfileTemplates(
	context.Context, principal.Principal, *route.None,
) (list route.Items[ProfileTemplateBody], err error) {
	for _, t := range profile.Templates() {
		body, err := profileTemplate(t)
		if err != nil {
			return list, err
		}
		list.Items = append(list.Items, body)
	}
	return list, nil
}

func (h *Handlers) getProfileTemplate(
	_ context.Context, _ principal.Principal, in *templateInput,
) (ProfileTemplateBody, error) {
	t, ok := profile.TemplateOf(in.Name)
	if !ok {
		return ProfileTemplateBody{}, fault.New(fault.NotFound, "no such template")
	}
	body, err := profileTemplate(t)
	return body, err
}
