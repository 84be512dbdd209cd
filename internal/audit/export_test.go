package audit

// EntriesQuery is the query of the first page of a list.
func EntriesQuery(log string, f Filter) (string, []any) {
	q := &entryQuery{args: []any{log}}
	q.narrow(f)
	return q.text(1), q.args
}
