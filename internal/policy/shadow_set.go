package policy

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	"writ/internal/policy/engine"
)

// Shadow is a version that is evaluated only for the record. Its set is the active one with this version.
type Shadow struct {
	PolicyID string
	Version  int
	Set      *engine.Set // nil: Problem says why
	Problem  string
}

// Why a shadow has no set.
const (
	notReady    = "it is not compiled yet"
	notCompiled = "it cannot be compiled by this server"
)

// isPending reports whether the shadow is still to be compiled.
func (s Shadow) isPending() bool { return s.Set == nil && s.Problem == notReady }

func pendingShadows(of []shadowed) []Shadow {
	var shadows []Shadow
	for _, s := range of {
		shadows = append(shadows, Shadow{PolicyID: s.ID, Version: s.Version, Problem: notReady})
	}
	return shadows
}

const (
	shadowTimeout  = time.Minute // of compiling shadows in the background
	shadowAttempts = 3           // to compile them before the policies change again
)

var errShadowsChange = errors.New("the active policies keep changing")

// prepareInBackground compiles the shadows of an organization without making a decision wait.
func (s *Service) prepareInBackground(orgID string) {
	o := s.sets.of(orgID)
	if !o.preparing.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer o.preparing.Store(false)
		ctx, cancel := context.WithTimeout(context.Background(), shadowTimeout)
		defer cancel()
		_ = s.PrepareShadows(ctx, orgID) // decisions record that it is not ready, and start it again
	}()
}

// PrepareShadows compiles the shadows of an organization that are pending. Decisions do not wait for it.
func (s *Service) PrepareShadows(ctx context.Context, orgID string) error {
	for range shadowAttempts {
		latest, err := s.currentSnapshot(ctx, orgID)
		if err != nil || !slices.ContainsFunc(latest.Shadows, Shadow.isPending) {
			return err
		}
		work, err := s.beginShadows(ctx, orgID)
		if err != nil {
			return err
		}
		if err := s.makeShadows(ctx, orgID, work); err != nil {
			return err
		}
		if done, err := s.storeShadows(ctx, orgID, work); err != nil || done {
			return err
		}
	}
	return errShadowsChange
}

// shadowWork is what PrepareShadows compiles outside of the lock.
type shadowWork struct {
	judged judged
	parts  map[part]*engine.Policy // what was compiled before, and here
	made   []Shadow
	rules  int // of all sets together
}

func (s *Service) beginShadows(ctx context.Context, orgID string) (*shadowWork, error) {
	o := s.sets.of(orgID)
	if err := o.lock(ctx); err != nil {
		return nil, err
	}
	defer o.unlock()
	return &shadowWork{judged: o.judged, parts: maps.Clone(o.parts)}, nil
}

// makeShadows compiles what is not compiled yet. A version that does not compile gets a problem and does not stop the
// others.
func (s *Service) makeShadows(ctx context.Context, orgID string, w *shadowWork) error {
	for _, a := range w.judged.active {
		w.rules += rulesOf(w.parts[part{a.ID, a.Version}])
	}
	for _, shadow := range w.judged.shadowed {
		made := Shadow{PolicyID: shadow.ID, Version: shadow.Version}
		policy := w.parts[shadow.part()]
		if policy == nil && !shadow.broken {
			loaded, err := s.loadShadow(ctx, orgID, shadow.part())
			if _, broken := errors.AsType[*BrokenError](err); err != nil && !broken {
				return err
			}
			policy = loaded
		}
		if policy == nil || shadow.broken {
			made.Problem = notCompiled
		} else {
			w.parts[shadow.part()] = policy
			made.Set = w.setWith(shadow)
		}
		w.made = append(w.made, made)
	}
	return nil
}

// loadShadow compiles a shadow. It recovers, because a panic outside of a request would end the server.
func (s *Service) loadShadow(ctx context.Context, orgID string, key part) (policy *engine.Policy, err error) {
	defer func() {
		if recover() != nil {
			policy, err = nil, &BrokenError{key.policyID, key.version, errors.New("compiling it failed")}
		}
	}()
	return s.load(ctx, s.compiler, orgID, key)
}

// setWith is the active set with a shadow instead of its policy's active version. A profile replaces any active
// profile, because at most one is active.
func (w *shadowWork) setWith(shadow shadowed) *engine.Set {
	var beside []engine.Active
	for _, a := range w.judged.active {
		if a.ID == shadow.ID || shadow.profile && slices.Contains(w.judged.profiles, a.ID) {
			continue
		}
		a.Policy = w.parts[part{a.ID, a.Version}]
		w.rules += rulesOf(a.Policy)
		beside = append(beside, a)
	}
	shadow.Policy = w.parts[shadow.part()]
	w.rules += rulesOf(shadow.Policy)
	return engine.NewSet(append(beside, shadow.Active))
}

func rulesOf(p *engine.Policy) int {
	if p == nil {
		return 0
	}
	return len(p.Document().Rules)
}

// storeShadows publishes the shadows, unless the active policies have changed.
func (s *Service) storeShadows(ctx context.Context, orgID string, w *shadowWork) (bool, error) {
	o := s.sets.of(orgID)
	if err := o.lock(ctx); err != nil {
		return false, err
	}
	defer o.unlock()
	if o.set == nil || !reflect.DeepEqual(o.judged, w.judged) {
		return false, nil
	}
	for _, shadow := range w.judged.shadowed {
		if policy := w.parts[shadow.part()]; policy != nil {
			o.parts[shadow.part()] = policy
		}
	}
	o.shadows = w.made
	o.publish()
	s.sets.resize(o, w.rules)
	return true, nil
}
