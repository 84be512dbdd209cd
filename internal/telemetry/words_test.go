package telemetry_test

import (
	"testing"

	"writ/internal/database"
)

// TestNewWordsAreSorted: nothing of what was indexed is left for every search to read.
func TestNewWordsAreSorted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		if e.DB.Engine() != database.PostgreSQL {
			return // which alone keeps new words apart
		}
		e.accept(orgA, spansOf(3), spansOf(2))
		if err := e.IndexWords(t.Context()); err != nil {
			t.Fatal(err)
		}
		const pages = `
			SELECT CAST(COALESCE(SUM(gin_clean_pending_list(c.oid)), 0) AS BIGINT)
			FROM pg_class c
			WHERE c.relname LIKE 'search_trace_day_%_words_idx' AND c.relnamespace = current_schema()::regnamespace`
		indexes := e.Number(`
			SELECT count(*)
			FROM pg_class c
			WHERE c.relname LIKE 'search_trace_day_%_words_idx' AND c.relnamespace = current_schema()::regnamespace`)
		if left := e.Number(pages); left != 0 || indexes == 0 {
			t.Errorf("%d pages are left in %d indexes", left, indexes)
		}
	})
}
