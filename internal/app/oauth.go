package app

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"writ/internal/apikey"
	"writ/internal/auth"
	"writ/internal/database"
	"writ/internal/oauth"
	"writ/internal/principal"
)

// newOAuth makes the authorization server of the proxy.
func (a *Areas) newOAuth(publicURL string) *oauth.Service {
	return oauth.New(a.Database, a.log, publicURL, oauth.Sources{
		Live: auth.RequireLive,
		AddKey: func(
			ctx context.Context, tx *database.Tx, p principal.Principal, k oauth.NewKey,
		) (string, error) {
			environment, err := a.Agents.EnvironmentOf(ctx, tx, p.OrgID, k.AgentID)
			if err != nil {
				return "", err
			}
			key, err := a.Keys.AddHidden(ctx, tx, p, apikey.NewKey{
				Name: k.Name, OrgID: p.OrgID, Environment: apikey.Environment(environment), ExpiresAt: &k.ExpiresAt,
			})
			return key.ID, err
		},
		EndKey:     a.Keys.EndHidden,
		Bind:       a.Agents.BindConsented,
		Unbind:     a.Agents.UnbindConsented,
		Holder:     a.Keys.Holder,
		Standing:   a.standingOf,
		Fetch:      a.fetchDocument,
		MayBePlain: a.outbound.IsPermitted,
	})
}

// standingOf says how an agent stands that a hidden key acts as. The key's owner must still be somebody who may give
// the agent's name to a client, and whom the organization lets in.
func (a *Areas) standingOf(ctx context.Context, key principal.Principal, agentID string) (oauth.Standing, error) {
	st, err := a.Agents.StandingOf(ctx, key.OrgID, agentID, key.KeyID)
	if err != nil {
		return oauth.Standing{}, err
	}
	role, err := a.Organizations.RoleOf(ctx, key.OrgID, key.UserID)
	if err != nil {
		return oauth.Standing{}, err
	}
	may, err := a.Agents.MayConsent(ctx, key.OrgID, agentID, key.UserID, role)
	if err != nil {
		return oauth.Standing{}, err
	}
	if key.LimitedTo == "" && role != principal.Owner {
		enforced, err := a.Federation.Enforces(ctx, key.OrgID)
		if err != nil {
			return oauth.Standing{}, err
		}
		may = may && !enforced
	}
	return oauth.Standing{Bound: st.Proven && may, Stopped: st.Stopped.All || st.SuspendedAs != ""}, nil
}

// fetchDocument reads the document of an OAuth client through the guard of addresses that users choose.
func (a *Areas) fetchDocument(ctx context.Context, url string, most int64) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	response, err := a.outbound.WebClient().Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the document is answered with status %d", response.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("the document has more than %d bytes", most)
	}
	return text, err
}
