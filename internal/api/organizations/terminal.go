package organizations

import (
	"context"
	"strings"
	"time"

	"writ/internal/api/route"
	"writ/internal/fault"
	"writ/internal/organization"
	"writ/internal/principal"
	"writ/internal/throttle"
)

// mountTerminal serves what published command lines call with the key of a terminal sign-in. Member names here are
// theirs.
func (h *Handlers) mountTerminal(r *route.Router) {
	route.Handle(r, route.Get("/iap/sdk/orgs", "Organizations of the key's owner").
		For(route.Key).Scoped(principal.CLI), h.terminalOrganizations)
	route.Handle(r, route.Post("/iap/sdk/switch-org", "A key for another organization of the key's owner").
		For(route.Key).Scoped(principal.CLI).Throttled(throttle.MakeKey).Records("key.created"), h.switchOrganization)
}

// TerminalOrganizationBody is an organization to switch to.
type TerminalOrganizationBody struct {
	Name        string         `json:"name"`
	OrgID       string         `json:"orgId" format:"uuid"`
	UserRole    principal.Role `json:"userRole"`
	MemberCount int            `json:"memberCount"`
	Active      bool           `json:"active" doc:"Whether the calling key belongs to it."`
}

// TerminalOrganizationsBody are the organizations to switch to.
type TerminalOrganizationsBody struct {
	Data []TerminalOrganizationBody `json:"data" nullable:"false"`
}

func (h *Handlers) terminalOrganizations(
	ctx context.Context, caller principal.Principal, _ *route.None,
) (TerminalOrganizationsBody, error) {
	mine, err := h.Gate.Mine(ctx, caller)
	shown := route.ItemsOf(mine, func(m organization.Membership) TerminalOrganizationBody {
		return TerminalOrganizationBody{
			Name:        m.Name,
			OrgID:       m.ID,
			UserRole:    m.Role,
			MemberCount: m.MemberCount,
			Active:      m.ID == caller.OrgID,
		}
	})
	return TerminalOrganizationsBody{shown.Items}, err
}

type switchInput struct {
	Body struct {
		Org     string `json:"org" minLength:"1" maxLength:"200" doc:"Id or exact name."`
		KeyName string `json:"keyName,omitempty" maxLength:"100" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]*$" patternDescription:"text without control characters" doc:"Absent or blank: cli- and the date."`
	}
}

// SwitchedBody is a key for the organization that was chosen.
type SwitchedBody struct {
	APIKey  string `json:"api_key"`
	OrgID   string `json:"org_id" format:"uuid"`
	OrgName string `json:"org_name"`
}

func (h *Handlers) switchOrganization(
	ctx context.Context, caller principal.Principal, in *switchInput,
) (SwitchedBody, error) {
	mine, err := h.Gate.Mine(ctx, caller)
	if err != nil {
		return SwitchedBody{}, err
	}
	target, err := choose(mine, strings.TrimSpace(in.Body.Org))
	if err != nil {
		return SwitchedBody{}, err
	}
	if !target.Role.May(principal.OwnKeys) {
		return SwitchedBody{}, fault.New(fault.Forbidden, "your role in this organization does not allow keys")
	}
	// A terminal is no way around the identity provider that an organization wants its members to sign in with.
	person := principal.Principal{Kind: principal.User, UserID: caller.UserID, LimitedTo: caller.LimitedTo}
	if err := h.Gate.CheckVouched(ctx, person, target.ID, target.Role); err != nil {
		return SwitchedBody{}, err
	}
	if err := h.Gate.CheckFactor(ctx, caller, target.ID); err != nil {
		return SwitchedBody{}, err
	}
	name := strings.TrimSpace(in.Body.KeyName)
	if name == "" {
		name = "cli-" + h.Now().Format("2006-01-02")
	}
	key, err := h.Keys.IssueCLI(ctx, caller, target.ID, name)
	return SwitchedBody{key.Secret.Reveal(), target.ID, target.Name}, err
}

// choose finds an organization by id, else by exact name. One that the caller does not belong to cannot be told from
// one that does not exist.
func choose(mine []organization.Membership, idOrName string) (organization.Membership, error) {
	var named []organization.Membership
	for _, m := range mine {
		if m.ID == idOrName {
			return m, nil
		}
		if m.Name == idOrName {
			named = append(named, m)
		}
	}
	switch len(named) {
	case 1:
		return named[0], nil
	case 0:
		return organization.Membership{}, fault.New(fault.Forbidden,
			"you are not a member of an organization with this id or name")
	default:
		return organization.Membership{}, fault.Field("org", "names %d of your organizations; give the id", len(named))
	}
}

// CurrentKeyBody is what a key is and may do.
type CurrentKeyBody struct {
	ID             string            `json:"id" format:"uuid"`
	OrganizationID *string           `json:"organizationId" doc:"null: bound to no organization."`
	OwnerID        string            `json:"ownerId" format:"uuid"`
	Environment    string            `json:"environment" enum:"sandbox,production"`
	Product        string            `json:"product" doc:"Empty: any."`
	Scopes         []principal.Scope `json:"scopes" nullable:"false"`
	Stopped        bool              `json:"stopped,omitempty,omitzero" doc:"The kill switch has stopped it, alone or with its organization."`
}

func (h *Handlers) currentKey(
	ctx context.Context, caller principal.Principal, _ *route.None,
) (CurrentKeyBody, error) {
	body := CurrentKeyBody{
		ID:          caller.KeyID,
		OwnerID:     caller.UserID,
		Environment: caller.Environment,
		Product:     caller.Product,
		Scopes:      caller.Scopes,
	}
	if caller.OrgID == "" {
		return body, nil
	}
	body.OrganizationID = &caller.OrgID
	stopped, err := h.Agents.StoppedKeys(ctx, caller.OrgID, []string{caller.KeyID})
	body.Stopped = len(stopped) > 0
	return body, err
}

// HistorySyncBody is a request for the history that a device kept of earlier sessions.
type HistorySyncBody struct {
	RequestedAt *time.Time `json:"requestedAt" doc:"When it was asked for; null: it was not."`
	RequestID   *string    `json:"requestId" doc:"Of the request; null: there is none."`
}

type historySyncInput struct {
	DeviceID string `query:"deviceId" doc:"The device, in the client's own words."`
}

// historySync answers newer plugins, which ask before they upload what a device did earlier. Writ never asks for that:
// what ran before an agent was under control is no evidence.
func historySync(
	context.Context, principal.Principal, *historySyncInput,
) (HistorySyncBody, error) {
	return HistorySyncBody{}, nil
}
