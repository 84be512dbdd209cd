package telemetry

import "writ/internal/telemetry/decode"

// WholeSpans is above the numbers of the spans of a trace that came whole, in one
// batch. Spans of a trace that grows have higher ones.
const WholeSpans = int64(decode.MaxSpans)
