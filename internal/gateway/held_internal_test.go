package gateway

import "testing"

// TestRoomIsHeldByWhoeverNeedsIt: the room of a body is given back once, by the last who needs the body.
func TestRoomIsHeldByWhoeverNeedsIt(t *testing.T) {
	t.Parallel()
	released := 0
	request := holding(func() { released++ })
	call := request.keep()
	request.done()
	if released != 0 {
		t.Fatal("the room is given back while a call waits that needs the body")
	}
	call.done()
	if released != 1 {
		t.Fatalf("the room was given back %d times, want once", released)
	}
}
