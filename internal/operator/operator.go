// Package operator keeps who runs this installation: the people that answer requests for access and write its blog.
//
// Being an operator is no role: it gives no right in any organization, and no organization can give it. Only a command
// on the server itself makes and removes operators, so that whoever takes over a browser cannot stay for good.
//
// The edge checks it before a request is read, and each change reads it again within its transaction (In): an operator
// may be removed during a request.
package operator

import (
	"context"
	"time"

	"writ/internal/audit"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
)

// Operator is a person who runs the installation.
type Operator struct {
	UserID, Email, Name string
	AddedAt             time.Time
}

// Service manages operators.
type Service struct {
	db  *database.DB
	log *audit.Log
}

// New makes a Service.
func New(db *database.DB, log *audit.Log) *Service { return &Service{db, log} }

// Add makes an account an operator.
func (s *Service) Add(ctx context.Context, actor principal.Principal, userID string) error {
	return s.change(ctx, actor, userID, "operator.added", func(ctx context.Context, tx *database.Tx) error {
		if is, err := In(ctx, tx, userID); err != nil || is {
			return orConflict(err, "this person is an operator already")
		}
		_, err := tx.Exec(ctx, `INSERT INTO operator (user_id, added_at) VALUES ($1, $2)`, userID,
			database.Micros(tx.Now()))
		return database.Wrap(err, "add operator %s", userID)
	})
}

// Remove takes it away.
func (s *Service) Remove(ctx context.Context, actor principal.Principal, userID string) error {
	return s.change(ctx, actor, userID, "operator.removed", func(ctx context.Context, tx *database.Tx) error {
		removed, err := tx.Exec(ctx, `DELETE FROM operator WHERE user_id = $1`, userID)
		if err == nil && removed == 0 {
			return fault.New(fault.NotFound, "this person is not an operator")
		}
		return database.Wrap(err, "remove operator %s", userID)
	})
}

// change is one that only the server's own command may make.
func (s *Service) change(
	ctx context.Context, actor principal.Principal, userID, action string,
	do func(ctx context.Context, tx *database.Tx) error,
) error {
	if actor.Kind != principal.System {
		return fault.New(fault.Forbidden, "operators are added and removed by a command on the server: writd operator")
	}
	return s.db.Write(ctx, database.Change{Logs: []string{audit.System}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		if err := do(ctx, tx); err != nil {
			return err
		}
		_, err := s.log.Append(ctx, tx, audit.Entry{
			Log:     audit.System,
			Action:  action,
			Actor:   actor,
			Subject: audit.Subject{Type: "user", ID: userID},
		})
		return err
	}})
}

func orConflict(err error, message string) error {
	if err != nil {
		return err
	}
	return fault.New(fault.Conflict, "%s", message)
}

// List is the operators, those of longest standing first.
func (s *Service) List(ctx context.Context) ([]Operator, error) { return All(ctx, s.db) }

// Fellows are the operators, for one of them.
func (s *Service) Fellows(ctx context.Context, p principal.Principal) ([]Operator, error) {
	if err := Require(ctx, s.db, p); err != nil {
		return nil, err
	}
	return All(ctx, s.db)
}

// Is reports whether a person is an operator.
func (s *Service) Is(ctx context.Context, userID string) (bool, error) { return In(ctx, s.db, userID) }
