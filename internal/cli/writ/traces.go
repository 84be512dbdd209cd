package writ

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"writ/client"
	"writ/internal/cli"
)

// traces holds the commands about traces.
func traces(s cli.Streams) *cobra.Command {
	c := &cobra.Command{Use: "traces", Short: "List, show, watch and export what agents do"}
	c.AddCommand(tracesList(s), tracesShow(s), tracesTail(s), tracesExport(s))
	return c
}

// idOfSession checks the id of a session that a flag gives, if it does: sessions have no names.
func idOfSession(given *string) error {
	if *given == "" {
		return nil
	}
	id := uuidOf(*given)
	if id == "" {
		return fmt.Errorf("%q is no id of a session: writ sessions list has them", *given)
	}
	*given = id
	return nil
}

// idOfPerson makes the person that a flag gives, if it does, their id. An id counts though nobody here has it: people
// leave, and what agents did for them stays.
func (p *asPerson) idOfPerson(ctx context.Context, c *client.Client, given *string) error {
	if *given == "" {
		return nil
	}
	if id := uuidOf(*given); id != "" {
		*given = id
		return nil
	}
	found, err := p.member(ctx, c, *given)
	if err == nil {
		*given = found.UserID
	}
	return err
}
