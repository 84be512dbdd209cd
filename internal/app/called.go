package app

import (
	"context"

	"writ/internal/enforcement"
	"writ/internal/execution"
	"writ/internal/principal"
)

// called are the names by which tools are called, as reports need them.
type called struct{ areas *Areas }

func (c called) Named(ctx context.Context, by principal.Principal, s execution.Stated) (server, tool string) {
	return c.areas.Enforcement.Named(ctx, by, enforcement.Calling(s))
}
