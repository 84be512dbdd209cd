package app

import (
	"context"
	"time"
)

// How often the scheduled work runs.
const (
	lastUsedInterval = 5 * time.Second
	counterSweep     = time.Minute
	projectInterval  = 500 * time.Millisecond // how far telemetry lags behind decisions
	indexInterval    = 500 * time.Millisecond // how late the search is
	reconcileEvery   = 5 * time.Second
	notifyInterval   = time.Second     // how late notifications and webhooks are
	tripInterval     = 5 * time.Second // how late a trip by cost or findings is
	eraseInterval    = time.Minute     // how soon the rest of a deleted account is erased
	expireEvery      = 5 * time.Second // how late an approval request expires for those who wait
	keyRefresh       = time.Minute     // how soon a rotated key signs
	sweepInterval    = time.Hour
	replayInterval   = time.Second // how soon a replay that was started begins
	replayRunners    = 2           // replays of different organizations that run at once
	retentionCheck   = time.Minute // how soon a due or missed retention begins
	witnessInterval  = 10 * time.Second
	reopenEvery      = 5 * time.Second // how soon a telemetry store that was mended is used
	checkInterval    = 24 * time.Hour
	checkDelay       = 10 * time.Minute // from the start to the first whole check of the audit logs
	lastFlush        = 3 * time.Second  // to write what is left on shutdown
)

// startJobs runs the scheduled work until cancel. Every replica runs it: no job minds that
// another replica has done its work.
func (s *Server) startJobs() {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	frequent := func(interval time.Duration, what string, job func(context.Context) error) {
		s.jobs.Go(func() { every(ctx, interval, s.withBackoff(ctx, what, job)) })
	}
	if s.TelemetryDB.IsDown() {
		s.jobs.Go(func() { s.reopenTelemetry(ctx, func() { s.startTelemetryJobs(ctx, frequent) }) })
	} else {
		s.startTelemetryJobs(ctx, frequent)
	}
	frequent(reconcileEvery, "match executions with decisions", s.Executions.Reconcile)
	frequent(tripInterval, "look at what agents have spent", s.watching(s.Agents.WatchBudgets))
	frequent(tripInterval, "look at what was found about agents", s.watching(s.Agents.WatchFindings))
	frequent(tripInterval, "stop keys in other organizations", s.Agents.Follow)
	frequent(expireEvery, "expire requests for approval", s.Approvals.Expire)
	frequent(expireEvery, "withdraw requests of what was stopped", s.Approvals.Withdraw)
	frequent(indexInterval, "index plans", s.Intent.IndexWords)
	frequent(indexInterval, "index requests for approval", s.Approvals.IndexWords)
	frequent(notifyInterval, "notify people of requests for approval", s.Notifications.ProcessEvents)
	frequent(notifyInterval, "mail that requests wait", s.Notifications.SendMails)
	frequent(eraseInterval, "erase what is said of people who left", s.Accounts.EraseRest)
	for range replayRunners {
		frequent(replayInterval, "replay policies", s.Replays.Work)
	}
	s.jobs.Go(func() { s.outgoing.Run(ctx) })
	s.jobs.Go(func() { s.Webhooks.Run(ctx, s.warnOf("send webhooks")) })
	s.jobs.Go(func() { s.Servers.Run(ctx, s.warnOf("watch MCP servers")) })
	s.jobs.Go(func() { s.Gateway.Run(ctx, s.warnOf("look at the sessions of the MCP endpoint")) })
	s.jobs.Go(func() { s.flushUses(ctx) })
	s.startRareJobs(ctx)
}

// startRareJobs runs the witness, the checks and the sweeps, which nobody waits for.
func (s *Server) startRareJobs(ctx context.Context) {
	rare := func(interval time.Duration, work func()) { s.jobs.Go(func() { every(ctx, interval, work) }) }
	if s.witness.Enabled() {
		witness := func() { s.attempt(ctx, "send checkpoints to the witness", s.witness.Run) }
		s.jobs.Go(func() {
			witness()
			every(ctx, witnessInterval, witness)
		})
	}
	s.jobs.Go(func() { s.checkDaily(ctx) })
	rare(keyRefresh, func() { s.attempt(ctx, "refresh the key for checkpoints", s.Audit.RefreshKey) })
	rare(counterSweep, func() { s.attempt(ctx, "sweep throttle counters", s.Limiter.Sweep) })
	rare(sweepInterval, func() {
		s.attempt(ctx, "sweep sessions", s.Auth.Sweep)
		s.attempt(ctx, "sweep consents to OAuth clients", s.OAuth.Sweep)
		s.attempt(ctx, "retire payloads of the audit log", s.retirePayloads)
		s.attempt(ctx, "sweep limits", s.Policies.Sweep)
		s.attempt(ctx, "erase the texts of plans that ended", s.Intent.EraseEnded)
		s.attempt(ctx, "forget old Idempotency-Keys", s.Intent.Prune)
		s.attempt(ctx, "forget what is known of old sessions", s.Scopes.Prune)
		s.attempt(ctx, "forget old notifications", s.Notifications.Prune)
		s.attempt(ctx, "forget agents that were seen long ago", s.Agents.Prune)
		s.attempt(ctx, "forget old deliveries", s.Webhooks.Prune)
		s.attempt(ctx, "forget how MCP servers answered", s.Servers.Prune)
		s.attempt(ctx, "forget old certificates", s.Certificates.Prune)
		s.attempt(ctx, "forget old decisions of proxies", s.Guard.Prune)
	})
}

// startTelemetryJobs runs the work on telemetry.
func (s *Server) startTelemetryJobs(
	ctx context.Context, frequent func(time.Duration, string, func(context.Context) error),
) {
	frequent(projectInterval, "show decisions in telemetry", s.projector.Run)
	frequent(indexInterval, "index traces", s.Telemetry.IndexWords)
	s.jobs.Go(func() { s.Forwarding.Run(ctx, s.warnOf("forward traces and decisions")) })
	retain := func() {
		s.attempt(ctx, "make partitions", s.Telemetry.MakePartitions)
		s.attempt(ctx, "retention", s.Telemetry.RunRetention)
	}
	s.jobs.Go(func() {
		retain()
		every(ctx, retentionCheck, retain)
	})
	s.jobs.Go(func() {
		every(ctx, sweepInterval, func() { s.attempt(ctx, "merge rollups", s.Telemetry.MergeWriters) })
	})
}

// reopenTelemetry tries to open a telemetry store that was down at the start until it succeeds, and then
// starts the work on it.
func (s *Server) reopenTelemetry(ctx context.Context, start func()) {
	ticker := time.NewTicker(reopenEvery)
	defer ticker.Stop()
	for before := ""; ; {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		err := s.Telemetry.Reopen(ctx)
		if err == nil {
			s.logger.Info("telemetry is up again")
			start()
			return
		}
		if text := err.Error(); text != before && ctx.Err() == nil { // not the same each time
			before = text
			s.logger.Warn("telemetry is still down", "error", err)
		}
	}
}

// flushUses writes when keys and agents were last used, also on shutdown.
func (s *Server) flushUses(ctx context.Context) {
	flush := func(ctx context.Context) {
		s.attempt(ctx, "write when keys were last used", s.Keys.FlushLastUsed)
		s.attempt(ctx, "write when agents were last seen", s.Agents.Flush)
	}
	every(ctx, lastUsedInterval, func() { flush(ctx) })
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
	defer cancel()
	flush(end)
}

// retirePayloads erases old payloads of the audit log, if the operator configured it.
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

// withBackoff is attempt for frequent work: after a failure it skips some runs, so that an
// outage does not fill the log.
func (s *Server) withBackoff(ctx context.Context, what string, job func(context.Context) error) func() {
	const skipped = 10
	wait := 0
	return func() {
		if wait > 0 {
			wait--
			return
		}
		s.attempt(ctx, what, func(ctx context.Context) error {
			err := job(ctx)
			if err != nil {
				wait = skipped
			}
			return err
		})
	}
}

func (s *Server) attempt(ctx context.Context, what string, job func(context.Context) error) {
	if err := job(ctx); err != nil && ctx.Err() == nil {
		s.warnOf(what)(err)
	}
}

// warnOf logs a failure of a job.
func (s *Server) warnOf(job string) func(err error) {
	return func(err error) {
		s.logger.Warn("scheduled work failed, and will be tried again", "job", job, "error", err)
	}
}

// checkDaily checks the audit logs whole, for the first time soon after the start.
func (s *Server) checkDaily(ctx context.Context) {
	check := func() {
		s.attempt(ctx, "check the audit logs", func(ctx context.Context) error { return s.check(ctx, true) })
		s.anchor(ctx)
	}
	select {
	case <-time.After(checkDelay):
		check()
		every(ctx, checkInterval, check)
	case <-ctx.Done():
	}
}

// anchor puts into the System log what the other logs have become, once they were compared with what it says already:
// a log that was put back must not be anchored as it is.
func (s *Server) anchor(ctx context.Context) {
	if _, at := s.evidence.AuditProblems(); !at.IsZero() {
		s.attempt(ctx, "anchor the audit logs", s.log.Anchor)
	}
}
