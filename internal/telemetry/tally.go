package telemetry

import (
	"cmp"

	"github.com/DataDog/sketches-go/ddsketch"

	"writ/internal/telemetry/decode"
)

// accuracy of quantiles.
const accuracy = 0.01

type dimension string

const (
	byModel   dimension = "model"
	byTool    dimension = "tool"
	bySession dimension = "session"
	byAgent   dimension = "agent"
)

// Keys of rollup rows, beside organization and writer.
type (
	usageKey struct {
		dimension dimension
		bucket    int64
		item      string
	}
	policyKey struct {
		policyID string
		bucket   int64
	}
	ruleKey struct {
		policyID string
		bucket   int64
		ruleID   string
	}
)

type traceCell struct {
	traces, errors int64
	durations      *ddsketch.DDSketch
}

type usageCell struct {
	spans int64
	usage Usage
}

// policyName is a policy's name, and when its span started.
type policyName struct {
	name    string
	namedAt int64
}

// rename takes the newer name. Of two names with the same time it takes the greater, so that their order does not
// matter.
func (n *policyName) rename(other policyName) {
	if other.name != "" &&
		(n.name == "" || cmp.Or(cmp.Compare(other.namedAt, n.namedAt), cmp.Compare(other.name, n.name)) > 0) {
		*n = other
	}
}

type policyCell struct {
	policyName
	calls, allowed, denied int64
	timed, durationMicros  int64
	durations              *ddsketch.DDSketch
}

const sessionEnd = "session.end"

// sessionChange is what traces say about a session.
type sessionChange struct {
	userID, agentID, product string
	startedAt, lastActivity  int64
	endedAt                  *int64
	endState                 string
	traces                   int64
	usage                    Usage
}

// tally is what one commit changes for one organization: pure arithmetic over new traces, written afterwards.
type tally struct {
	traces   map[int64]*traceCell // by hour
	minutes  map[int64]int64
	usage    map[usageKey]*usageCell
	policies map[policyKey]*policyCell
	rules    map[ruleKey]int64
	sessions map[string]*sessionChange
	active   map[int64]int64    // sessions by the hour of their last activity
	models   map[[2]string]bool // session and model of generation spans

	decisions map[decisionKey]*decisionCell

	metered map[int64]*metered // by the first hour of the day
	agents  map[meteredAgent]int64
}

func newTally() *tally {
	return &tally{
		traces: map[int64]*traceCell{}, minutes: map[int64]int64{}, usage: map[usageKey]*usageCell{},
		policies: map[policyKey]*policyCell{}, rules: map[ruleKey]int64{},
		sessions: map[string]*sessionChange{}, active: map[int64]int64{}, models: map[[2]string]bool{},
		decisions: map[decisionKey]*decisionCell{}, metered: map[int64]*metered{}, agents: map[meteredAgent]int64{},
	}
}

// cell is the value of a key, created on first use.
func cell[K comparable, V any](m map[K]*V, key K) *V {
	if v, ok := m[key]; ok {
		return v
	}
	v := new(V)
	m[key] = v
	return v
}

func newSketch() *ddsketch.DDSketch {
	sketch, err := ddsketch.LogUnboundedDenseDDSketch(accuracy)
	if err != nil {
		panic(err) // the accuracy is a constant between 0 and 1
	}
	return sketch
}

// observe adds a duration to a sketch that may be nil.
func observe(sketch *ddsketch.DDSketch, value float64) *ddsketch.DDSketch {
	if sketch == nil {
		sketch = newSketch()
	}
	if err := sketch.Add(value); err != nil {
		panic(err) // durations are checked: 0 to 10^12
	}
	return sketch
}

// bucketOf is where something counts: when it started, but never after it was received, so that retention removes rows
// and their totals together.
func bucketOf(start, received, unit int64) int64 { return floor(min(start, received), unit) }

func (t *tally) add(b *decode.Batch, product string, received int64) {
	trace := &b.Trace
	c := cell(t.traces, bucketOf(trace.Start, received, hourMicros))
	c.traces++
	if trace.Status != decode.StatusOK {
		c.errors++
	}
	if trace.DurationMs != nil {
		c.durations = observe(c.durations, float64(*trace.DurationMs))
	}
	t.minutes[bucketOf(trace.Start, received, minuteMicros)]++
	for i := range b.Spans {
		t.addSpan(&b.Spans[i], trace.SessionID, trace.AgentID, spanReceived(&b.Spans[i], received))
	}
	if trace.SessionID != "" {
		t.addToSession(b, product, received)
	}
}

// spanReceived is when a span was received: with its trace, unless it has a key of its own.
func spanReceived(s *decode.Span, withTrace int64) int64 {
	if s.Key == 0 {
		return withTrace
	}
	return receivedAt(s.Key)
}

func (t *tally) addSpan(s *decode.Span, sessionID, agentID string, received int64) {
	bucket := bucketOf(s.Start, received, hourMicros)
	if s.Kind == decode.KindGeneration {
		t.addUsage(byModel, bucket, s.Model, s.Usage, 1)
		t.addUsage(byAgent, bucket, agentID, s.Usage, 1)
		if sessionID != "" {
			t.addUsage(bySession, bucket, sessionID, s.Usage, 1)
			t.models[[2]string{sessionID, s.Model}] = true
		}
	}
	if s.Tool != "" {
		t.addUsage(byTool, bucket, s.Tool, s.Usage, 1)
	}
	if s.Kind == decode.KindPolicyCall && s.PolicyID != "" {
		t.addPolicyCall(s, bucket)
	}
}

func (t *tally) addUsage(d dimension, bucket int64, item string, u Usage, spans int64) {
	c := cell(t.usage, usageKey{d, bucket, item})
	c.spans += spans
	c.usage = c.usage.Add(u)
}

// addPolicyCall counts the four verdicts and ignores anything else.
func (t *tally) addPolicyCall(s *decode.Span, bucket int64) {
	var allowed, denied int64
	switch s.Decision {
	case "allow":
		allowed = 1
	case "deny":
		denied = 1
	case "hold", "ask":
	default:
		return
	}
	c := cell(t.policies, policyKey{s.PolicyID, bucket})
	c.calls, c.allowed, c.denied = c.calls+1, c.allowed+allowed, c.denied+denied
	c.rename(policyName{s.PolicyName, s.Start})
	micros := s.DurationMicros
	if micros == nil && s.DurationMs != nil {
		micros = new(*s.DurationMs * 1000)
	}
	if micros != nil {
		c.timed++
		c.durationMicros = decode.Saturate(c.durationMicros, *micros)
		c.durations = observe(c.durations, float64(*micros)/1000)
	}
	if s.RuleID != "" {
		t.rules[ruleKey{s.PolicyID, bucket, s.RuleID}]++
	}
}

// addToSession adds a trace to its session.
func (t *tally) addToSession(b *decode.Batch, product string, received int64) {
	trace := &b.Trace
	s := t.touchSession(trace, product, received)
	s.traces++
	s.usage = s.usage.Add(trace.Usage)
	for i := range b.Spans {
		if span := &b.Spans[i]; span.Kind == decode.KindEvent && span.Name == sessionEnd {
			s.end(span, activityOf(trace, received), received)
		}
	}
}

func activityOf(trace *decode.Trace, received int64) int64 {
	activity := trace.Start
	if trace.End != nil {
		activity = max(activity, *trace.End)
	}
	return min(activity, received)
}

// touchSession records when a trace was active in its session, and for whom.
func (t *tally) touchSession(trace *decode.Trace, product string, received int64) *sessionChange {
	activity, started := activityOf(trace, received), min(trace.Start, received)
	s, seen := t.sessions[trace.SessionID]
	if !seen {
		s = &sessionChange{startedAt: started, lastActivity: activity, product: product}
		t.sessions[trace.SessionID] = s
	}
	s.startedAt, s.lastActivity = min(s.startedAt, started), max(s.lastActivity, activity)
	if s.userID == "" {
		s.userID = trace.UserID
	}
	if s.agentID == "" {
		s.agentID = trace.AgentID
	}
	return s
}

// end records an event that ends the session. The trace that contains it may go on for a moment; that is no new
// activity.
func (s *sessionChange) end(event *decode.Span, traceActivity, received int64) {
	at := max(min(event.Start, received), traceActivity)
	if s.endedAt != nil && at < *s.endedAt {
		return
	}
	s.endedAt, s.endState = &at, "completed"
	if event.Status != decode.StatusOK {
		s.endState = "error"
	}
}
