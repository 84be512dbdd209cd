package execution

import (
	"context"

	"writ/internal/principal"
	"writ/internal/toolname"
)

// Names is what reports need of the names of calls.
type Names interface {
	// Named is the server and the tool that a name means in calls of a key; where it is only itself, those that were
	// stated.
	Named(ctx context.Context, by principal.Principal, stated Stated) (server, tool string)
}

// Stated is what a report says of the tool that was called.
type Stated struct{ PlanID, Server, Tool, Source string }

// calledBy is a name and whose call it is of.
type calledBy struct {
	keyID string
	Stated
}

// name splits the name that the row calls its tool by as that of a call is split, so that the record has one name for
// both. What was decided is still found by the name that was called, which says more than a tool does without its
// server.
func (p *presented) name(ctx context.Context, it *item) {
	if !toolname.MayJoin(it.tool) {
		return
	}
	key := calledBy{it.by.KeyID, Stated{it.planID, it.server, it.tool, it.payload.Source}}
	found, ok := p.names[key]
	if !ok {
		found.Server, found.Tool = p.s.names.Named(ctx, it.by, key.Stated)
		p.names[key] = found
	}
	if found.Tool == it.tool {
		return
	}
	it.server, it.tool = found.Server, found.Tool
	it.payload.SpelledAs, it.payload.Server, it.payload.Tool = it.stated.Tool, it.server, it.tool
}
