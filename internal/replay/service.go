package replay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/policy"
	"writ/internal/principal"
)

// Service starts replays and runs them.
type Service struct {
	db       *database.DB
	policies *policy.Service
	sources  Sources
	// rest is called after each slice of work with its duration.
	rest func(ctx context.Context, worked time.Duration)
	// renewEvery is how often a runner renews its lease, longest how long a replay may run.
	renewEvery, longest time.Duration
}

// New makes a service.
func New(db *database.DB, policies *policy.Service, sources Sources) *Service {
	return &Service{
		db:         db,
		policies:   policies,
		sources:    sources,
		rest:       restLonger,
		renewEvery: renewEvery,
		longest:    longest,
	}
}

// Start stores a replay, which one of the servers then runs. An organization has one
// at a time. It needs the right to read payloads: a report holds no argument, but
// whoever writes conditions and sees which calls meet them learns the arguments.
func (s *Service) Start(ctx context.Context, p principal.Principal, r Request) (Job, error) {
	if err := requireObserver(p); err != nil {
		return Job{}, err
	}
	if err := p.Require(principal.DraftPolicies); err != nil {
		return Job{}, err
	}
	if r.Days < 1 || r.Days > MaxDays {
		return Job{}, fault.Field("days", "must be from 1 to %d", MaxDays)
	}
	job, err := s.newJob(ctx, p, r)
	if err != nil {
		return Job{}, err
	}
	err = s.db.Write(ctx, database.Change{Logs: []string{lockOf(p.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		job.CreatedAt, job.Until = tx.Now(), tx.Now()
		job.From = tx.Now().AddDate(0, 0, -r.Days)
		open, err := hasOpen(ctx, tx, p.OrgID)
		if err != nil {
			return err
		}
		if open {
			return fault.New(fault.Conflict, "a replay of this organization is running: wait for it, or cancel it")
		}
		if err := deleteOldest(ctx, tx, p.OrgID, maxKept-1); err != nil {
			return err
		}
		return insert(ctx, tx, job)
	}})
	return job, err
}

// newJob is the job that a request asks for. It fails if the draft is invalid.
func (s *Service) newJob(ctx context.Context, p principal.Principal, r Request) (Job, error) {
	alternative, err := s.policies.Alternative(ctx, p.OrgID, r.Subject, r.Without...)
	if err != nil {
		return Job{}, err
	}
	job := Job{
		ID:       database.NewID(),
		OrgID:    p.OrgID,
		State:    Waiting,
		Name:     alternative.Name,
		PolicyID: r.PolicyID,
		Version:  alternative.Version,
		Without:  r.Without,
		Days:     r.Days,
		Author:   policy.Author{Kind: p.Kind, ID: p.ActorID()},
		source:   r.Source,
	}
	if r.Source != nil {
		sum := sha256.Sum256([]byte(r.Source.Text))
		job.Digest = hex.EncodeToString(sum[:])
	}
	return job, nil
}

// lockOf makes changes of an organization's replays take turns. Nothing is appended to
// a log of this name.
func lockOf(orgID string) string { return "replay/" + orgID }

// Get returns a replay with its report.
func (s *Service) Get(ctx context.Context, p principal.Principal, id string) (Job, error) {
	if err := require(p, principal.ReadPolicies); err != nil {
		return Job{}, err
	}
	return find(ctx, s.db, p.OrgID, id)
}

// List returns the stored replays, newest first, without their reports.
func (s *Service) List(ctx context.Context, p principal.Principal) ([]Job, error) {
	if err := require(p, principal.ReadPolicies); err != nil {
		return nil, err
	}
	return list(ctx, s.db, p.OrgID)
}

// Cancel ends a replay. Its runner notices within about a second.
func (s *Service) Cancel(ctx context.Context, p principal.Principal, id string) (job Job, err error) {
	if err := require(p, principal.DraftPolicies); err != nil {
		return Job{}, err
	}
	err = s.db.Write(ctx, database.Change{Logs: []string{lockOf(p.OrgID)}, Do: func(
		ctx context.Context, tx *database.Tx,
	) error {
		if job, err = find(ctx, tx, p.OrgID, id); err != nil {
			return err
		}
		if !job.State.Open() {
			return fault.New(fault.Conflict, "the replay has ended: it is %s", job.State)
		}
		now := tx.Now()
		job.State, job.EndedAt = Cancelled, &now
		return end(ctx, tx, job)
	}})
	return job, err
}
