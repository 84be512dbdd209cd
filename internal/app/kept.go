package app

import (
	"context"
	"errors"
	"fmt"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/organization"
)

// checkKept compares the logs that there are with all that tells of them: the System log, the organizations and the
// witness file. Those that are gone or were put back are refused, and those that are as they should be again are not.
func (a *Areas) checkKept(ctx context.Context, found func(audit.Problem)) error {
	if err := a.reseal(ctx, found); err != nil {
		return err
	}
	refused := map[string]error{}
	refuse := func(p audit.Problem) {
		if _, known := refused[p.Log]; !known {
			found(p)
			refused[p.Log] = reasonOf(p)
		}
	}
	err := a.log.CheckKept(ctx, func(p audit.Problem) {
		if p.Log == audit.System {
			found(p) // about what it says of others: it is not refused
			return
		}
		refuse(p)
	})
	if err != nil {
		return err
	}
	missing, err := missingLogs(ctx, a.Database)
	if err != nil {
		return err
	}
	for _, log := range missing {
		refuse(audit.Problem{Log: log, Kind: audit.BadLog, Message: "the log of an organization is gone"})
	}
	if err := a.checkWitness(ctx, refuse); err != nil {
		found(audit.Problem{Kind: audit.BadWitness, Message: err.Error()})
		for log, reason := range refused {
			a.log.Refuse(log, reason) // what the witness said before still counts
		}
		return nil
	}
	a.log.RefuseOnly(refused)
	return nil
}

// reasonOf is the reason for which a log is refused.
func reasonOf(p audit.Problem) error {
	if p.Kind == audit.BadWitness {
		return fmt.Errorf("%w: %s", audit.ErrWitness, p.Message)
	}
	return errors.New(p.Message)
}

// reseal reads from the entries what an altered head says of policies and logs.
func (a *Areas) reseal(ctx context.Context, found func(audit.Problem)) error {
	resealed, err := a.log.Reseal(ctx)
	for _, log := range resealed {
		found(audit.Problem{Log: log, Kind: audit.BadHead,
			Message: "what its head said of policies and logs was altered; " +
				"it was read from the entries again"})
	}
	return err
}

// missingLogs are those of organizations whose log is gone: each has an entry at least
// since the organization was created.
func missingLogs(ctx context.Context, db *database.DB) (missing []string, err error) {
	// First the organizations: one that is created in between has its log, and is not looked for.
	all, err := organization.AllIDs(ctx, db)
	if err != nil {
		return nil, err
	}
	heads, err := audit.ReadHeads(ctx, db)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, head := range heads {
		there[head.Log] = head.Size > 0
	}
	for _, id := range append([]string{audit.System}, all...) {
		if !there[audit.LogOf(id)] {
			missing = append(missing, audit.LogOf(id))
		}
	}
	return missing, nil
}
