package app

import (
	"context"
	"time"

	"writ/internal/database"
)

// MasterKeyIn finds or makes the key of a data folder.
var MasterKeyIn = masterKeyIn

// DatabaseOptions say where the database of a server is.
var DatabaseOptions = databaseOptions

// SendToWitness sends what the witness has not seen.
func (a *Areas) SendToWitness(ctx context.Context) error { return a.witness.Run(ctx) }

// AuditProblems is what the last check found.
func (a *Areas) AuditProblems() (int, time.Time) { return a.evidence.AuditProblems() }

// RestoreOver restores a backup of PostgreSQL into an empty database, as if it replaced another one: no command does,
// and the statements must hold on both.
func RestoreOver(ctx context.Context, o Options, path string, replaced *database.DB) (Restored, error) {
	var before replacedData
	if err := before.readTaken(ctx, replaced); err != nil {
		return Restored{}, err
	}
	if err := database.RestorePostgres(ctx, o.Config.DatabaseURL.Reveal(), path); err != nil {
		return Restored{}, err
	}
	return beginEpochs(ctx, o, optionsAlone(o), before)
}
