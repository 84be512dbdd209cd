package gateway

import "sync/atomic"

// held is the room that the body of a request takes. It is given back when neither the request nor a call that waits
// needs the body any more.
type held struct {
	users   atomic.Int64
	release func()
}

// holding is the room of a body that its request needs.
func holding(release func()) *held { return (&held{release: release}).keep() }

// keep is the same room, for one more who needs it.
func (h *held) keep() *held {
	h.users.Add(1)
	return h
}

// done says that one does not need it any more.
func (h *held) done() {
	if h.users.Add(-1) == 0 {
		h.release()
	}
}
