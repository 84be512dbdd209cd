package enforcement

import (
	"context"
	"sync"
	"time"

	"writ/internal/decision"
	"writ/internal/policy"
	"writ/internal/policy/engine"
	"writ/internal/toolcall"
	"writ/internal/verdict"
)

// shadowTime is how long the shadows of a decision may take together: after it no
// further question is put to any, and none waits for the database. One question
// takes no more work than that of a decision, which the engine bounds.
const shadowTime = 50 * time.Millisecond

// Why a shadow was not judged by.
const (
	shadowLate   = "there was no time left to judge by it"
	shadowFailed = "judging by it failed"
)

// judgeShadows asks every shadow what it would have said. The call is decided
// already; whatever happens here is written down with it, and nothing else.
func (s *Service) judgeShadows(
	ctx context.Context, c *call, v *view, questions []question, known limitsRead, said verdict.Verdict,
) []decision.Shadow {
	ctx, cancel := context.WithTimeout(ctx, shadowTime)
	defer cancel()
	own := s.shadowQuestions(ctx, c, questions)
	judged := make([]decision.Shadow, len(v.policies.Shadows))
	for i, shadow := range v.policies.Shadows {
		judged[i] = s.judgeShadow(ctx, shadow, own, known)
		judged[i].Policy, judged[i].Version, judged[i].Active = shadow.PolicyID, shadow.Version, said.String()
	}
	return judged
}

// shadowQuestions are the questions with figures of the session that are read
// within the time of shadows, once.
func (s *Service) shadowQuestions(ctx context.Context, c *call, questions []question) []question {
	own := make([]question, len(questions))
	for i, q := range questions {
		copied := *q.call
		copied.Session.Ask = sync.OnceValues(func() (toolcall.SessionStats, error) {
			return s.policies.SessionStats(ctx, c.by.OrgID, copied.Session.ID)
		})
		own[i] = question{&copied, q.restricts}
	}
	return own
}

// judgeShadow asks one. A panic is a failure of the shadow and of nothing else.
func (s *Service) judgeShadow(
	ctx context.Context, shadow policy.Shadow, questions []question, known limitsRead,
) (judged decision.Shadow) {
	if shadow.Set == nil {
		return decision.Shadow{Problem: shadow.Problem}
	}
	defer func() {
		if failure := recover(); failure != nil {
			s.logger.ErrorContext(ctx, "judging by a shadow failed; the decision is not touched by it", "policy",
				shadow.PolicyID, "version", shadow.Version)
			judged = decision.Shadow{Problem: shadowFailed}
		}
	}()
	uncounted := false
	spent := known.withoutReading(&uncounted)
	var d engine.Decision
	for i := range questions {
		if ctx.Err() != nil {
			return decision.Shadow{Problem: shadowLate}
		}
		d = questions[i].join(i == 0, d, policy.Judge(shadow.Set, questions[i].call, spent))
	}
	return decision.Shadow{
		Verdict:   d.Verdict.String(),
		DecidedBy: d.PolicyID,
		Rule:      d.Rule,
		Failed:    len(d.Failed),
		Uncounted: uncounted,
	}
}

// limitsRead is what was read of limits for a decision.
type limitsRead map[engine.LimitKey]limitRead

type limitRead struct {
	used int64
	err  error
}

// reading keeps what is read.
func (l limitsRead) reading(spent engine.Spent) engine.Spent {
	return func(key engine.LimitKey) (int64, error) {
		used, err := spent(key)
		l[key] = limitRead{used, err}
		return used, err
	}
}

// withoutReading tells what was read before. Any other limit counts as not spent,
// and it is noted: nobody counts the calls of a rule that is not active, and a
// shadow asks the database for none.
func (l limitsRead) withoutReading(uncounted *bool) engine.Spent {
	return func(key engine.LimitKey) (int64, error) {
		read, ok := l[key]
		if !ok {
			*uncounted = true
		}
		return read.used, read.err
	}
}
