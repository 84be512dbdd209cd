package policy

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"writ/internal/audit"
	"writ/internal/fault"
	"writ/internal/policy/engine"
)

// Snapshot is what the calls of an organization are judged by.
type Snapshot struct {
	Set *engine.Set
	// Version is a version of the organization's log; the set is not older. If the log is ahead when a decision is
	// recorded, the decision is made again.
	audit.Version
	Shadows []Shadow // evaluated only for the record
}

// Cached is the last snapshot of an organization, which may be out of date. A decision by it must compare its version
// with the log's in the decision's own transaction.
func (s *Service) Cached(orgID string) (Snapshot, bool) {
	latest := s.sets.of(orgID).latest.Load()
	if latest == nil {
		return Snapshot{}, false
	}
	return *latest, true
}

// BrokenError is a stored version that can no longer be read or compiled. No set leaves it out, because that might
// leave out a deny. Without a policy it is about all active ones together.
type BrokenError struct {
	PolicyID string // or empty
	Version  int
	Cause    error
}

// Error names the version and what is wrong with it.
func (e *BrokenError) Error() string {
	if e.PolicyID == "" {
		return e.Cause.Error()
	}
	return fmt.Sprintf("version %d of policy %s cannot be used: %v", e.Version, e.PolicyID, e.Cause)
}

// Unwrap gives the cause.
func (e *BrokenError) Unwrap() error { return e.Cause }

// Snapshot is the compiled set of an organization's active policies now. It compiles what changed, so it may take
// seconds and must not be called within a transaction. With a BrokenError it has a version but no set.
func (s *Service) Snapshot(ctx context.Context, orgID string) (Snapshot, error) {
	latest, err := s.currentSnapshot(ctx, orgID)
	if err == nil && slices.ContainsFunc(latest.Shadows, Shadow.isPending) {
		s.prepareInBackground(orgID)
	}
	return latest, err
}

// currentSnapshot is Snapshot, but does not prepare the shadows.
func (s *Service) currentSnapshot(ctx context.Context, orgID string) (Snapshot, error) {
	// The head is read before the policies, so that these are never older.
	head, err := audit.ReadHead(ctx, s.db.Prepared(), audit.LogOf(orgID))
	if err != nil {
		return Snapshot{}, err
	}
	now := head.Version
	o := s.sets.of(orgID)
	if err := o.lock(ctx); err != nil {
		return Snapshot{}, err
	}
	defer o.unlock()
	if o.set == nil || !o.version.Covers(now) {
		if err := s.refresh(ctx, o, head.State()); err != nil {
			return Snapshot{Version: now}, fmt.Errorf("compile the active policies: %w", err)
		}
		o.version = now
	}
	return o.publish(), nil
}

// publish makes what is compiled the latest snapshot. The caller holds the lock.
func (o *orgSet) publish() Snapshot {
	latest := Snapshot{Set: o.set, Version: o.version, Shadows: o.shadows}
	o.latest.Store(&latest)
	return latest
}

// refresh compiles the set again if the policies changed. Most changes of an organization are not about its policies.
func (s *Service) refresh(ctx context.Context, o *orgSet, state string) error {
	judged, err := s.readJudged(ctx, o, state)
	if err != nil {
		return err
	}
	o.state = state
	if o.set != nil && reflect.DeepEqual(judged, o.judged) {
		return nil
	}
	active := judged.active
	compiled, rules := slices.Clone(active), 0
	parts := make(map[part]*engine.Policy, len(active))
	for i, a := range active {
		key := part{a.ID, a.Version}
		if o.parts[key] == nil {
			if o.parts[key], err = s.load(ctx, s.loader, o.orgID, key); err != nil {
				delete(o.parts, key)
				return err
			}
		}
		compiled[i].Policy, parts[key] = o.parts[key], o.parts[key]
		rules += len(o.parts[key].Document().Rules)
	}
	for _, shadow := range judged.shadowed {
		if known := o.parts[shadow.part()]; known != nil {
			parts[shadow.part()] = known
		}
	}
	o.set, o.judged, o.parts, o.shadows = engine.NewSet(compiled), judged, parts, pendingShadows(judged.shadowed)
	s.sets.resize(o, rules)
	return nil
}

// judgedTries is how often policies that change while they are compared with the log are
// read again.
const judgedTries = 5

// readJudged reads what an organization's calls are judged by, and compares it with the
// log if either is not as it was.
func (s *Service) readJudged(ctx context.Context, o *orgSet, state string) (judged, error) {
	var before judged
	for try := 0; ; try++ {
		rows, err := selectJudged(ctx, s.db, o.orgID)
		if err != nil {
			return judged{}, err
		}
		now, err := groupJudged(rows)
		if err != nil || o.set != nil && state == o.state && reflect.DeepEqual(now, o.judged) {
			return now, err
		}
		// The log is read after the policies, and may know of a later change.
		err = s.proveJudged(ctx, o, rows, now)
		if err == nil || try == judgedTries || try > 0 && reflect.DeepEqual(now, before) {
			return now, err
		}
		before = now
	}
}

// load reads, proves and compiles one version. The loader does not wait for drafts that are being compiled.
func (s *Service) load(ctx context.Context, with *compiler, orgID string, key part) (*engine.Policy, error) {
	v, err := s.storedVersion(ctx, orgID, key)
	if err != nil {
		return nil, err
	}
	log, err := s.log.Evidence(ctx, audit.LogOf(orgID))
	if err != nil {
		return nil, err
	}
	if err := proveVersion(ctx, log, v); err != nil {
		return nil, err
	}
	return with.compileStored(ctx, v)
}

// compileStored compiles a stored version, which was valid when it was stored.
func (c *compiler) compileStored(ctx context.Context, v Version) (*engine.Policy, error) {
	read, err := c.read(ctx, v.Source)
	if err != nil && !fault.Is(err, fault.Unavailable) {
		err = &BrokenError{v.PolicyID, v.Number, err}
	}
	return read.policy, err
}

// compileVersion compiles a version of a policy (the latest with LatestVersion) for a caller who tries it out.
func (s *Service) compileVersion(ctx context.Context, orgID, id string, number int) (engine.Active, error) {
	_, v, err := s.findNumbered(ctx, orgID, id, number)
	if err != nil {
		return engine.Active{}, err
	}
	policy, err := s.compiler.compileStored(ctx, v)
	return engine.Active{ID: id, Version: v.Number, Policy: policy}, err
}

// storedVersion reads a version that must be there.
func (s *Service) storedVersion(ctx context.Context, orgID string, key part) (Version, error) {
	v, err := findVersion(ctx, s.db, orgID, key.policyID, key.version)
	if fault.Is(err, fault.NotFound) {
		err = &BrokenError{key.policyID, key.version, errors.New("its text is gone")}
	}
	return v, err
}
