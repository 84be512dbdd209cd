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
	// Version is that of the organization's log: the set is as new or newer. A decision
	// is made again when the log is ahead in its transaction.
	audit.Version
	// Shadows are judged by beside the set, for the record alone. Most have none.
	Shadows []Shadow
}

// Remembered is the set that was made last for an organization, without asking
// the database whether it is still the one. Who decides by it compares its
// generation with the log's in the decision's own transaction.
func (s *Service) Remembered(orgID string) (Snapshot, bool) {
	latest := s.sets.of(orgID).latest.Load()
	if latest == nil {
		return Snapshot{}, false
	}
	return *latest, true
}

// BrokenError is a stored version that cannot be read or compiled any more. A set
// that needs it does not exist: leaving it out might leave out a deny.
type BrokenError struct {
	PolicyID string
	Version  int
	Cause    error
}

// Error names the version and what is wrong with it.
func (e *BrokenError) Error() string {
	return fmt.Sprintf("version %d of policy %s cannot be used: %v", e.Version, e.PolicyID, e.Cause)
}

// Unwrap gives the cause.
func (e *BrokenError) Unwrap() error { return e.Cause }

// Snapshot is the compiled set of an organization's active policies as of the
// moment it is asked for. What changed since the last time is compiled here, so
// it may take seconds and must not be called within a transaction of the
// committer. With a BrokenError it has its version and no set.
func (s *Service) Snapshot(ctx context.Context, orgID string) (Snapshot, error) {
	latest, err := s.present(ctx, orgID)
	if err == nil && slices.ContainsFunc(latest.Shadows, Shadow.waits) {
		s.prepareSoon(orgID)
	}
	return latest, err
}

// present is the snapshot of the moment; its shadows may not be made yet.
func (s *Service) present(ctx context.Context, orgID string) (Snapshot, error) {
	// Before the policies: then these are never older than it says.
	head, err := audit.ReadHead(ctx, s.db, audit.LogOf(orgID))
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
		if err := s.refresh(ctx, o); err != nil {
			return Snapshot{Version: now}, fmt.Errorf("compile the active policies: %w", err)
		}
		o.version = now
	}
	return o.publish(), nil
}

// publish gives out what is compiled at present. The caller has the turn.
func (o *orgSet) publish() Snapshot {
	latest := Snapshot{Set: o.set, Version: o.version, Shadows: o.shadows}
	o.latest.Store(&latest)
	return latest
}

// refresh makes the set anew, or leaves it as it was. Most changes of an
// organization are not about its policies, and need no other set.
func (s *Service) refresh(ctx context.Context, o *orgSet) error {
	judged, err := s.readJudged(ctx, o)
	if err != nil {
		return err
	}
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
	o.set, o.judged, o.parts, o.shadows = engine.NewSet(compiled), judged, parts, waiting(judged.shadowed)
	s.sets.grown(o, rules)
	return nil
}

// judgedTries is how often policies that change while they are compared with the log are
// read again.
const judgedTries = 5

// readJudged reads what an organization's calls are judged by. What is not as it was is
// compared with the log.
func (s *Service) readJudged(ctx context.Context, o *orgSet) (judged, error) {
	var before judged
	for try := 0; ; try++ {
		rows, err := selectJudged(ctx, s.db, o.orgID)
		if err != nil {
			return judged{}, err
		}
		now, err := groupJudged(rows)
		if err != nil || o.set != nil && reflect.DeepEqual(now, o.judged) {
			return now, err
		}
		// The log is read after the policies, and may know of a later change.
		err = s.proveJudged(ctx, o.orgID, now.active)
		if err == nil || try == judgedTries || try > 0 && reflect.DeepEqual(now, before) {
			return now, err
		}
		before = now
	}
}

// load reads, proves and compiles one version. With the loader it waits for no draft to be
// compiled, nor for anybody who tries one out.
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
	c, err := with.read(ctx, v.Source)
	if err != nil {
		if fault.Is(err, fault.Unavailable) {
			return nil, err
		}
		return nil, &BrokenError{key.policyID, key.version, err}
	}
	return c.policy, nil
}

// storedVersion reads a version that must be there.
func (s *Service) storedVersion(ctx context.Context, orgID string, key part) (Version, error) {
	v, err := findVersion(ctx, s.db, orgID, key.policyID, key.version)
	if fault.Is(err, fault.NotFound) {
		err = &BrokenError{key.policyID, key.version, errors.New("its text is gone")}
	}
	return v, err
}
