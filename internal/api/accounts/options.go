package accounts

import (
	"context"

	"writ/internal/api/route"
	"writ/internal/principal"
)

// OptionsBody is what this server offers to people who are not signed in yet.
type OptionsBody struct {
	Google      bool   `json:"google" doc:"Whether people can sign in with Google."`
	SignUp      bool   `json:"signUp" doc:"Whether anyone may register; else only invited people."`
	Mail        string `json:"mail" enum:"smtp,outbox,none" doc:"Where mail goes: to a mail server, to a folder on the server, nowhere."`
	Development bool   `json:"development" doc:"Whether this is no production server."`
	Billing     bool   `json:"billing" doc:"Whether organizations pay here."`
	Referrals   bool   `json:"referrals" doc:"Whether organizations refer others here."`
}

func (h *Handlers) mountOptions(r *route.Router) {
	route.Handle(r, route.Get("/auth/options", "How people can sign in and sign up here").For(route.Public),
		func(context.Context, principal.Principal, *route.None) (OptionsBody, error) {
			options := h.Options
			options.Google, options.SignUp = h.Federation.Google.ClientID != "", h.SignUpOpen
			return options, nil
		})
}
