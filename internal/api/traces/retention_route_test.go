package traces_test

import (
	"net/http"
	"testing"

	"writ/internal/testserver"
)

// TestRetentionIsTold: members see how long the operator keeps what their agents did.
func TestRetentionIsTold(t *testing.T) {
	t.Parallel()
	type body struct {
		TraceDays   int  `json:"traceDays"`
		PayloadDays *int `json:"payloadDays"`
	}
	read := func(t *testing.T, s *testserver.Server) (got body) {
		owner := s.Person("owner")
		org := s.Organization(owner, "Here")
		viewer := s.Join(owner, org, "viewer")
		if err := viewer.Call(t.Context(), http.MethodGet, "/organization/"+org+"/retention", nil, nil,
			&got); err != nil {
			t.Fatal(err)
		}
		err := s.Person("stranger").Call(t.Context(), http.MethodGet, "/organization/"+org+"/retention", nil, nil, nil)
		testserver.WantStatus(t, "a stranger", err, http.StatusForbidden)
		return got
	}
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		if got := read(t, s); got.TraceDays != 30 || got.PayloadDays != nil {
			t.Errorf("unless set: %+v", got)
		}
	})
	testserver.Each(t, func(t *testing.T, s *testserver.Server) {
		if got := read(t, s); got.TraceDays != 7 || got.PayloadDays == nil || *got.PayloadDays != 365 {
			t.Errorf("as set: %+v", got)
		}
	}, "OBSERVABILITY_RETENTION_DAYS", "7", "AUDIT_PAYLOAD_RETENTION_DAYS", "365")
}
