package telemetry

// ArrivalQuery finds what arrived.
const ArrivalQuery = arrivalQuery

// TraceListQuery is the query of a first page of traces.
func (s *Service) TraceListQuery(orgID string, f TraceFilter) (query string, args []any) {
	w := s.listed(orgID, f)
	f.apply(w)
	return traceQuery(w, f), w.args
}
