package gateway

import (
	"strconv"
	"testing"

	"writ/internal/fault"
	"writ/internal/principal"
)

// TestAnOrganizationCannotTakeAllSessions opens sessions by many keys of one organization.
func TestAnOrganizationCannotTakeAllSessions(t *testing.T) {
	t.Parallel()
	var all table
	all.init()
	open := func(org string, n int) (*session, error) {
		s := &session{caller: principal.Principal{OrgID: org, KeyID: org + strconv.Itoa(n)}}
		return s, all.add(s)
	}
	var last *session
	for n := range MaxSessionsPerOrganization {
		s, err := open("greedy", n)
		if err != nil {
			t.Fatalf("session %d: %v", n, err)
		}
		last = s
	}
	if _, err := open("greedy", MaxSessionsPerOrganization); !fault.Is(err, fault.TooMany) {
		t.Errorf("one session too many: %v", err)
	}
	if _, err := open("other", 0); err != nil {
		t.Errorf("another organization: %v", err)
	}
	all.remove(last)
	if _, err := open("greedy", MaxSessionsPerOrganization); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
}

// TestAKeyCannotHaveAllCallsWait counts calls that wait for people.
func TestAKeyCannotHaveAllCallsWait(t *testing.T) {
	t.Parallel()
	var w waitingCalls
	var end func()
	for range MaxWaitingPerKey {
		done, ok := w.add("greedy")
		if !ok {
			t.Fatal("a call within the limit does not wait")
		}
		end = done
	}
	if _, ok := w.add("greedy"); ok {
		t.Error("one call too many waits")
	}
	if _, ok := w.add("other"); !ok {
		t.Error("a call of another key does not wait")
	}
	end()
	if _, ok := w.add("greedy"); !ok || w.count() != MaxWaitingPerKey+1 {
		t.Errorf("after one has ended: %t, %d wait", ok, w.count())
	}
}
