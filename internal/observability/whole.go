package observability

import "writ/internal/observability/intake"

// WholeSpans is above the numbers of the spans of a trace that came whole, in one
// batch. Spans of a trace that grows have higher ones.
const WholeSpans = int64(intake.MaxSpans)
