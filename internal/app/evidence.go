package app

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"writ/internal/audit"
)

// Checked is the outcome of a check of the audit logs and of what they tell of.
type Checked struct {
	At       time.Time       `json:"at"`
	Whole    bool            `json:"whole"` // false: a sample
	Logs     int             `json:"logs"`
	Entries  int64           `json:"entries,omitzero"` // that were read, of a whole check
	Problems []audit.Problem `json:"problems"`
	Found    int             `json:"found"` // problems, also those beyond the list
}

// maxProblems is how many problems of a check are listed.
const maxProblems = 100

func (c *Checked) add(p audit.Problem) {
	if c.Found++; len(c.Problems) < maxProblems {
		c.Problems = append(c.Problems, p)
	}
}

// evidence is what the last check found.
type evidence struct{ last atomic.Pointer[Checked] }

// AuditProblems is how many problems the last check found, and when it ended.
func (e *evidence) AuditProblems() (problems int, at time.Time) {
	if last := e.last.Load(); last != nil {
		return last.Found, last.At
	}
	return 0, time.Time{}
}

// sampledLogs is how many logs the check at the start samples, besides System; every head
// is checked.
const sampledLogs = 32

// CheckEvidence checks all logs and policies whole, or a bounded sample of them.
func (a *Areas) CheckEvidence(ctx context.Context, whole bool) (Checked, error) {
	checked := Checked{Whole: whole, Problems: []audit.Problem{}}
	if err := a.checkKept(ctx, checked.add); err != nil {
		return Checked{}, err
	}
	heads, err := audit.ReadHeads(ctx, a.Database)
	if err != nil {
		return Checked{}, err
	}
	logs := make([]string, len(heads))
	for i, head := range heads {
		logs[i] = head.Log
	}
	if whole {
		err = a.checkWhole(ctx, logs, &checked)
	} else {
		err = a.checkSample(ctx, logs, &checked)
	}
	checked.Logs, checked.At = len(logs), a.Database.Now()
	return checked, err
}

func (a *Areas) checkWhole(ctx context.Context, logs []string, checked *Checked) error {
	for _, log := range logs {
		entries, err := a.CheckLog(ctx, log, checked.add)
		if err != nil {
			return err
		}
		checked.Entries += entries
	}
	return nil
}

// checkSample checks every head, and samples of System and of some logs by chance.
func (a *Areas) checkSample(ctx context.Context, logs []string, checked *Checked) error {
	bad, err := a.log.BadHeads(ctx)
	if err != nil {
		return err
	}
	for _, head := range bad {
		checked.add(audit.Problem{Log: head.Log, Kind: audit.BadHead, Message: head.Cause.Error()})
	}
	chosen := slices.Clone(logs)
	rand.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	chosen = chosen[:min(len(chosen), sampledLogs)]
	if !slices.Contains(chosen, audit.System) {
		chosen = append(chosen, audit.System)
	}
	for _, log := range chosen {
		if slices.ContainsFunc(bad, func(head *audit.HeadError) bool { return head.Log == log }) {
			continue
		}
		if err := a.log.Sample(ctx, log, checked.add); err != nil {
			return err
		}
		if err := a.checkPolicies(ctx, log, false, checked.add); err != nil {
			return err
		}
	}
	return nil
}

// CheckLog checks one log whole, and the policies of its organization. It gives how many
// entries were read.
func (a *Areas) CheckLog(ctx context.Context, log string, found func(audit.Problem)) (int64, error) {
	entries, err := a.log.Check(ctx, log, found)
	if err != nil {
		return 0, err
	}
	return entries, a.checkPolicies(ctx, log, true, found)
}

// CheckOne is CheckLog, and also whether the log is the one that was kept elsewhere. A log that was refused for that,
// and is as it should be now, is not refused any more.
func (a *Areas) CheckOne(ctx context.Context, log string, found func(audit.Problem)) (int64, error) {
	err := a.checkKept(ctx, func(p audit.Problem) {
		if p.Log == log {
			found(p)
		}
	})
	if err != nil {
		return 0, err
	}
	return a.CheckLog(ctx, log, found)
}

func (a *Areas) checkPolicies(ctx context.Context, log string, all bool, found func(audit.Problem)) error {
	if log == audit.System || a.log.IsRefused(log) {
		return nil
	}
	report := func(policyID string, version int, problem string) {
		message := fmt.Sprintf("policy %s, version %d: %s", policyID, version, problem)
		if policyID == "" {
			message = problem
		}
		found(audit.Problem{Log: log, Kind: audit.BadPolicy, Message: message})
	}
	err := a.Policies.CheckEvidence(ctx, log, all, report)
	if err != nil && ctx.Err() == nil {
		found(audit.Problem{
			Log: log, Kind: audit.BadPolicy, Message: "the policies cannot be compared with the log: " + err.Error(),
		})
		return nil
	}
	return err
}

// RepairSearch writes again, from the records, what the entries of all logs are found by.
func (a *Areas) RepairSearch(ctx context.Context) error {
	heads, err := audit.ReadHeads(ctx, a.Database)
	if err != nil {
		return err
	}
	for _, head := range heads {
		if _, err := a.log.RepairSearch(ctx, head.Log); err != nil {
			return err
		}
	}
	return nil
}

// checkAtStart is how long the check at the start may take.
const checkAtStart = 10 * time.Second

// checkSoon runs the sample at the start: what it finds is reported, and logs that cannot
// be continued are refused.
func (s *Server) checkSoon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkAtStart)
	defer cancel()
	s.attempt(ctx, "check the audit logs at the start", func(ctx context.Context) error {
		return s.check(ctx, false)
	})
}

// check runs a check and reports what it finds.
func (s *Server) check(ctx context.Context, whole bool) error {
	checked, err := s.CheckEvidence(ctx, whole)
	if err != nil {
		return err
	}
	s.evidence.last.Store(&checked)
	for _, p := range checked.Problems {
		s.logger.Error("the audit log is not what was signed", "log", p.Log, "kind", p.Kind, "entries", p.Entries,
			"problem", p.Message)
	}
	if checked.Found > 0 {
		s.logger.Error("what is stored was altered: see docs/audit-log.md, When a check finds something", "problems",
			checked.Found, "whole", whole)
	}
	return nil
}
