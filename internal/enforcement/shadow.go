package enforcement

import (
	"context"
	"time"

	"writ/internal/decision"
	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/verdict"
)

// shadowTimeout bounds all shadows of a decision together. It is checked before each question, whose work the engine
// bounds.
const shadowTimeout = 50 * time.Millisecond

// Why a shadow has no verdict.
const (
	shadowLate   = "there was no time left to judge by it"
	shadowFailed = "judging by it failed"
)

// judgeShadows judges the call by every shadow. The call is decided already; this is only recorded.
func (s *Service) judgeShadows(
	ctx context.Context, c *call, v *view, questions []engine.Question, known limitsRead, said verdict.Verdict,
) []decision.Shadow {
	ctx, cancel := context.WithTimeout(ctx, shadowTimeout)
	defer cancel()
	own := s.shadowQuestions(ctx, c, questions)
	judged := make([]decision.Shadow, len(v.policies.Shadows))
	for i, shadow := range v.policies.Shadows {
		judged[i] = s.judgeShadow(ctx, shadow, own, known)
		judged[i].Policy, judged[i].Version, judged[i].Active = shadow.PolicyID, shadow.Version, said.String()
	}
	return judged
}

// shadowQuestions are the questions with session statistics that are read within the timeout of shadows.
func (s *Service) shadowQuestions(ctx context.Context, c *call, questions []engine.Question) []engine.Question {
	own := make([]engine.Question, len(questions))
	for i, q := range questions {
		copied := *q.Call
		copied.Session.Load = s.lazyStats(ctx, c.by.OrgID, copied.Session.ID)
		own[i] = engine.Question{Call: &copied, Naming: q.Naming}
	}
	return own
}

// judgeShadow judges by one shadow. A panic fails only the shadow.
func (s *Service) judgeShadow(
	ctx context.Context, shadow policy.Shadow, questions []engine.Question, known limitsRead,
) (judged decision.Shadow) {
	if shadow.Set == nil {
		return decision.Shadow{Problem: shadow.Problem}
	}
	defer func() {
		if failure := recover(); failure != nil {
			s.logger.ErrorContext(ctx, "judging by a shadow failed; the decision is not affected", "policy",
				shadow.PolicyID, "version", shadow.Version)
			judged = decision.Shadow{Problem: shadowFailed}
		}
	}()
	uncounted := false
	spent := known.withoutReading(&uncounted)
	if ctx.Err() != nil {
		return decision.Shadow{Problem: shadowLate}
	}
	d, _ := policy.JudgeNamed(shadow.Set, questions, spent)
	return decision.Shadow{
		Verdict:   d.Verdict.String(),
		Confined:  d.Confine != nil,
		DecidedBy: d.PolicyID,
		Rule:      d.Rule,
		Failed:    len(d.Failed),
		Uncounted: uncounted,
	}
}

// limitsRead is the limits that were read for a decision.
type limitsRead map[engine.LimitKey]limitRead

type limitRead struct {
	used int64
	err  error
}

// reading records what spent reads.
func (l limitsRead) reading(spent engine.Spent) engine.Spent {
	return func(key engine.LimitKey) (int64, error) {
		used, err := spent(key)
		l[key] = limitRead{used, err}
		return used, err
	}
}

// withoutReading returns what was read before. Any other limit counts as unused and sets uncounted: the calls of an
// inactive rule are not counted, and a shadow reads no limits.
func (l limitsRead) withoutReading(uncounted *bool) engine.Spent {
	return func(key engine.LimitKey) (int64, error) {
		read, ok := l[key]
		if !ok {
			*uncounted = true
		}
		return read.used, read.err
	}
}
