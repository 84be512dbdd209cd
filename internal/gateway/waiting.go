package gateway

import "sync"

// waitingCalls counts the calls that wait for a person, by key.
type waitingCalls struct {
	mu     sync.Mutex
	perKey map[string]int
}

// add counts a call until done; ok is false if the key may have no more that wait.
func (w *waitingCalls) add(keyID string) (done func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.perKey[keyID] >= MaxWaitingPerKey {
		return nil, false
	}
	if w.perKey == nil {
		w.perKey = map[string]int{}
	}
	w.perKey[keyID]++
	return func() { w.remove(keyID) }, true
}

func (w *waitingCalls) remove(keyID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.perKey[keyID]--; w.perKey[keyID] == 0 {
		delete(w.perKey, keyID)
	}
}

// count is how many calls wait.
func (w *waitingCalls) count() (all int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, n := range w.perKey {
		all += n
	}
	return all
}
