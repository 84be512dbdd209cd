package decode

// Fragment is what one request says about a trace that grows: some of its spans, and what they say about the trace.
// More may come, also from other processes, and the same may come again.
//
// The root span gives a trace its name, start, duration and status. Until the root has come, the trace has the name of
// its first span, starts and ends with its spans, has no duration, and fails if one of them does.
type Fragment struct {
	Batch   // its trace has no totals: which spans are new is not known yet
	Product string
	Rooted  bool // whether the root is among the spans, and describes the trace
}

// MaxGrownSpans is how many spans a trace may grow to. An endless one would take too long to remove or to show.
const MaxGrownSpans = 100_000

// Merge adds to a stored trace what a fragment says about it, beside its spans. rooted says whether the stored trace
// has its root.
func (t *Trace) Merge(f *Fragment, rooted bool) {
	if t.SessionID == "" {
		t.SessionID = f.Trace.SessionID
	}
	if t.UserID == "" {
		t.UserID = f.Trace.UserID
	}
	switch {
	case rooted:
		if t.AgentID == "" {
			t.AgentID = f.Trace.AgentID
		}
	case f.Rooted:
		t.adoptRoot(&f.Trace)
	default:
		t.widen(&f.Trace)
	}
}

// adoptRoot takes over what the root says.
func (t *Trace) adoptRoot(root *Trace) {
	t.Name, t.Start, t.End, t.DurationMs, t.Status = root.Name, root.Start, root.End, root.DurationMs, root.Status
	t.Attributes, t.Input, t.Output = root.Attributes, root.Input, root.Output
	if root.AgentID != "" {
		t.AgentID = root.AgentID
	}
}

// widen extends a trace without its root to all of its spans.
func (t *Trace) widen(more *Trace) {
	t.Start = min(t.Start, more.Start)
	if t.End == nil || more.End != nil && *more.End > *t.End {
		t.End = more.End
	}
	if t.Status == StatusOK {
		t.Status = more.Status
	}
	if t.AgentID == "" {
		t.AgentID = more.AgentID
	}
}
