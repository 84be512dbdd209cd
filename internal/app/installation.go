package app

import (
	"context"
	"log/slog"

	"writ/internal/accessrequest"
	"writ/internal/mail"
	"writ/internal/operator"
)

// newRequests builds requests for access, which operators answer.
func (a *Areas) newRequests(post mail.Sender, logger *slog.Logger, publicURL string) *accessrequest.Service {
	return accessrequest.NewService(accessrequest.Options{
		Database:  a.Database,
		Log:       a.log,
		Mail:      post,
		Logger:    logger,
		PublicURL: publicURL,
		Require:   operator.Require,
		Addresses: a.operatorAddresses,
	})
}

func (a *Areas) operatorAddresses(ctx context.Context) (addresses []string, err error) {
	all, err := a.Operators.List(ctx)
	for _, o := range all {
		addresses = append(addresses, o.Email)
	}
	return addresses, err
}
