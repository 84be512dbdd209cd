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
			key, err := a.Keys.AddHidden(ctx, tx, p, apikey.NewKey{
				Name: k.Name, OrgID: p.OrgID, ExpiresAt: &k.ExpiresAt,
			})
			return key.ID, err
		},
		EndKey: a.Keys.EndHidden,
		Bind:   a.Agents.BindConsented,
		Unbind: a.Agents.UnbindConsented,
		Holder: a.Keys.Holder,
		Standing: func(ctx context.Context, orgID, agentID, keyID string) (oauth.Standing, error) {
			st, err := a.Agents.StandingOf(ctx, orgID, agentID, keyID)
			return oauth.Standing{Bound: st.Proven, Stopped: st.Stopped.All || st.SuspendedAs != ""}, err
		},
		Fetch:      a.fetchDocument,
		MayBePlain: a.outbound.IsPermitted,
	})
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
