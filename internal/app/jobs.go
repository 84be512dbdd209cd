package app

import (
	"context"
	"time"
)

// How often the scheduled work runs.
const (
	lastUsedInterval = 5 * time.Second
	counterSweep     = time.Minute
	projectInterval  = 500 * time.Millisecond // how far telemetry may be behind decisions
	reconcileEvery   = 5 * time.Second
	tellInterval     = time.Second     // how late people and webhooks hear of requests
	expireEvery      = 5 * time.Second // how soon who waits for an approval is told that it is over
	keyRefresh       = time.Minute     // how soon a rotated key signs
	sweepInterval    = time.Hour
	replayInterval   = time.Second     // how soon a replay that was started begins
	replayRunners    = 2               // replays of different organizations that run at once
	retentionCheck   = time.Minute     // how soon a due or missed retention begins
	lastFlush        = 3 * time.Second // for what is left at the end
)

// startJobs runs the scheduled work until cancel. Every replica runs it: each
// piece is harmless when another has done it already.
func (s *Server) startJobs() {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.jobs.Go(func() { s.outgoing.Run(ctx) })
	s.jobs.Go(func() {
		every(ctx, lastUsedInterval, func() { s.attempt(ctx, "write when keys were last used", s.Keys.FlushLastUsed) })
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
		defer cancel()
		s.attempt(end, "write when keys were last used", s.Keys.FlushLastUsed)
	})
	s.jobs.Go(func() {
		keep := func() {
			s.attempt(ctx, "make partitions", s.Telemetry.MakePartitions)
			s.attempt(ctx, "retention", s.Telemetry.RunRetention)
		}
		keep()
		every(ctx, retentionCheck, keep)
	})
	s.jobs.Go(func() {
		every(ctx, keyRefresh, func() { s.attempt(ctx, "refresh the key for checkpoints", s.Audit.RefreshKey) })
	})
	s.jobs.Go(func() {
		every(ctx, projectInterval, s.withBackoff(ctx, "show decisions in telemetry", s.projector.Run))
	})
	s.jobs.Go(func() {
		every(ctx, reconcileEvery, s.withBackoff(ctx, "match executions with decisions", s.Executions.Reconcile))
	})
	s.jobs.Go(func() {
		every(ctx, expireEvery, s.withBackoff(ctx, "expire requests for approval", s.Approvals.Expire))
	})
	s.jobs.Go(func() {
		tell := s.withBackoff(ctx, "tell what happened to requests", s.Notifications.ProcessEvents)
		mail := s.withBackoff(ctx, "mail that requests wait", s.Notifications.SendMails)
		every(ctx, tellInterval, func() { tell(); mail() })
	})
	s.jobs.Go(func() {
		s.Webhooks.Run(ctx, func(err error) {
			s.logger.Warn("scheduled work failed, and will be tried again", "job", "send webhooks", "error", err)
		})
	})
	for range replayRunners {
		s.jobs.Go(func() {
			every(ctx, replayInterval, s.withBackoff(ctx, "replay policies", s.Replays.Work))
		})
	}
	s.jobs.Go(func() {
		s.Forwarding.Run(ctx, func(err error) {
			s.logger.Warn("scheduled work failed, and will be tried again", "job", "forward traces and decisions",
				"error", err)
		})
	})
	s.jobs.Go(func() {
		every(ctx, counterSweep, func() { s.attempt(ctx, "sweep throttle counters", s.Limiter.Sweep) })
	})
	s.jobs.Go(func() {
		every(ctx, sweepInterval, func() {
			s.attempt(ctx, "sweep sessions", s.Auth.Sweep)
			s.attempt(ctx, "merge rollups", s.Telemetry.MergeWriters)
			s.attempt(ctx, "retire payloads of the audit log", s.retirePayloads)
			s.attempt(ctx, "sweep limits", s.Policies.Sweep)
			s.attempt(ctx, "forget old Idempotency-Keys", s.Intent.Prune)
			s.attempt(ctx, "forget old notifications", s.Notifications.Prune)
			s.attempt(ctx, "forget old deliveries", s.Webhooks.Prune)
		})
	})
}

// retirePayloads erases the audit log's old payloads where the operator said so.
func (s *Server) retirePayloads(ctx context.Context) error {
	if s.payloadRetention == 0 {
		return nil
	}
	return s.Audit.RetirePayloads(ctx, s.payloadRetention)
}

// every calls work until ctx ends.
func every(ctx context.Context, interval time.Duration, work func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			work()
		case <-ctx.Done():
			return
		}
	}
}

// patiently is attempt for work that runs often: after a failure it is left out
// some times, so that an outage does not fill the log.
func (s *Server) withBackoff(ctx context.Context, what string, job func(context.Context) error) func() {
	const leftOut = 10
	wait := 0
	return func() {
		if wait > 0 {
			wait--
			return
		}
		s.attempt(ctx, what, func(ctx context.Context) error {
			err := job(ctx)
			if err != nil {
				wait = leftOut
			}
			return err
		})
	}
}

func (s *Server) attempt(ctx context.Context, what string, job func(context.Context) error) {
	if err := job(ctx); err != nil && ctx.Err() == nil {
		s.logger.Warn("scheduled work failed, and will be tried again", "job", what, "error", err)
	}
}
