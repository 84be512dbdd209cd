package policy

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"writ/internal/policy/engine"
)

// Shadow is a version that is judged by for the record alone: its set is the
// active one with the version in place of what is active of its policy.
type Shadow struct {
	PolicyID string
	Version  int
	Set      *engine.Set // nil: there is none, and Problem says why
	Problem  string
}

// Why a shadow has no set.
const (
	notReady    = "it is not compiled yet"
	notCompiled = "it cannot be compiled by this server"
)

// waits reports whether the shadow is still to be made.
func (s Shadow) waits() bool { return s.Set == nil && s.Problem == notReady }

// waiting are shadows of which none is made.
func waiting(of []shadowed) []Shadow {
	var shadows []Shadow
	for _, s := range of {
		shadows = append(shadows, Shadow{PolicyID: s.ID, Version: s.Version, Problem: notReady})
	}
	return shadows
}

const (
	// shadowPatience is how long making shadows may take where nobody waits for it.
	shadowPatience = time.Minute
	// shadowTries is how often it is begun anew because policies changed meanwhile.
	shadowTries = 3
)

// prepareSoon makes the shadows of an organization beside everything else: no
// decision waits for one. It ends by itself.
func (s *Service) prepareSoon(orgID string) {
	o := s.sets.of(orgID)
	if !o.preparing.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer o.preparing.Store(false)
		ctx, cancel := context.WithTimeout(context.Background(), shadowPatience)
		defer cancel()
		_ = s.PrepareShadows(ctx, orgID) // decisions tell that it is not ready, and it is tried again
	}()
}

// PrepareShadows makes what shadows of an organization are judged by, where that is
// not made yet. It compiles as drafts are compiled, and keeps nobody waiting who
// decides.
func (s *Service) PrepareShadows(ctx context.Context, orgID string) error {
	for range shadowTries {
		latest, err := s.present(ctx, orgID)
		if err != nil || !slices.ContainsFunc(latest.Shadows, Shadow.waits) {
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

// shadowWork is the making of an organization's shadows.
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
	w := &shadowWork{judged: o.judged, parts: make(map[part]*engine.Policy, len(o.parts))}
	for key, policy := range o.parts {
		w.parts[key] = policy
	}
	return w, nil
}

// makeShadows compiles what is not compiled yet. A version that cannot be is told
// of; it does not hinder the others.
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

// loadShadow compiles a shadow. Nobody's request is behind it that could fail: a
// panic would end the server.
func (s *Service) loadShadow(ctx context.Context, orgID string, key part) (policy *engine.Policy, err error) {
	defer func() {
		if recover() != nil {
			policy, err = nil, &BrokenError{key.policyID, key.version, errors.New("compiling it failed")}
		}
	}()
	return s.load(ctx, s.compiler, orgID, key)
}

// setWith is the active set with a shadow in place of what is active of its
// policy: of profiles, of which one counts at most, in place of any.
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

// storeShadows gives the shadows out, unless what they stand beside has changed.
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
	s.sets.grown(o, w.rules)
	return true, nil
}
