package testenv

import (
	"sync"
	"testing"
	"time"

	"writ/internal/fault"
)

// WantFault checks that an error is a fault of a kind, or that there is none where the kind
// is empty.
func WantFault(t testing.TB, what string, err error, kind fault.Kind) {
	t.Helper()
	if fault.KindOf(err) != kind {
		t.Errorf("%s: %v, want a fault of kind %q", what, err, kind)
	}
}

// AtOnce runs functions at the same time and gives their errors in order.
func AtOnce(do ...func() error) []error {
	errs := make([]error, len(do))
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range do {
		all.Go(func() {
			<-begin
			errs[i] = do[i]()
		})
	}
	close(begin)
	all.Wait()
	return errs
}

// Eventually waits for a condition.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited too long until %s", what)
		}
	}
}
