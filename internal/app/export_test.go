package app

import (
	"context"
	"time"
)

// MasterKeyIn finds or makes the key of a data folder.
var MasterKeyIn = masterKeyIn

// DatabaseOptions say where the database of a server is.
var DatabaseOptions = databaseOptions

// SendToWitness sends what the witness has not seen.
func (a *Areas) SendToWitness(ctx context.Context) error { return a.witness.Run(ctx) }

// AuditProblems is what the last check found.
func (a *Areas) AuditProblems() (int, time.Time) { return a.evidence.AuditProblems() }
