package decode

// Fragment is what one request tells of a trace that grows: some of its spans, and
// the trace as far as they tell it. More may come, from other processes too, and
// the same may come again.
//
// A trace is what its root span says of it: its name, when it began, how long it
// took and how it ended. Until the root is there, it is called like its first span,
// begins and ends with its spans, has no duration, and fails where one of them does.
type Fragment struct {
	Batch   // its trace's totals are not counted: which spans are new is not known yet
	Product string
	Rooted  bool // whether the root is among the spans, and the trace is as it says
}

// MaxGrownSpans is how many spans a trace may grow to. One without end would keep
// whoever removes or shows it busy.
const MaxGrownSpans = 100_000

// Merge adds to a stored trace what a fragment tells of it beyond its spans: rooted
// says whether the stored one has its root.
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

// follow has the trace be as its root says.
func (t *Trace) adoptRoot(root *Trace) {
	t.Name, t.Start, t.End, t.DurationMs, t.Status = root.Name, root.Start, root.End, root.DurationMs, root.Status
	t.Attributes, t.Input, t.Output = root.Attributes, root.Input, root.Output
	if root.AgentID != "" {
		t.AgentID = root.AgentID
	}
}

// widen has a trace without its root reach as far as its spans do.
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
