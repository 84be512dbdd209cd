package delegation

import "writ/internal/database"

// Service opens, decides and expires requests for approval.
type Service struct {
	db *database.DB
}

// New makes a service.
func New(db *database.DB) *Service { return &Service{db: db} }
