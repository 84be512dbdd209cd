package fault_test

import (
	"errors"
	"fmt"
	"testing"

	"writ/internal/fault"
)

func TestKindSurvivesWrapping(t *testing.T) {
	t.Parallel()
	cause := errors.New("disk on fire")
	err := fmt.Errorf("load key: %w", fault.Wrap(cause, fault.Unavailable, "try again"))
	if got := fault.KindOf(err); got != fault.Unavailable {
		t.Errorf("KindOf = %q, want %q", got, fault.Unavailable)
	}
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
}

func TestKindOfForeignErrors(t *testing.T) {
	t.Parallel()
	if got := fault.KindOf(errors.New("x")); got != fault.Internal {
		t.Errorf("KindOf(foreign) = %q, want internal", got)
	}
	if got := fault.KindOf(nil); got != "" {
		t.Errorf("KindOf(nil) = %q, want empty", got)
	}
	if fault.Is(nil, fault.Internal) {
		t.Error("nil is no fault")
	}
}

func TestFieldsNamesTheFirst(t *testing.T) {
	t.Parallel()
	err := fault.Fields(fault.Detail{Field: "name", Message: "must be 1-100 characters"}, fault.Detail{
		Field: "email", Message: "is required",
	})
	if want := "name: must be 1-100 characters"; err.Message != want {
		t.Errorf("message = %q, want %q", err.Message, want)
	}
	if len(err.Details) != 2 || err.Kind != fault.Invalid {
		t.Errorf("details = %v, kind = %s", err.Details, err.Kind)
	}
}

func TestNothingIsSaidTwice(t *testing.T) {
	t.Parallel()
	cause := errors.New("in use by another one")
	for message, want := range map[string]string{
		"in use by another one": "in use by another one",
		"it cannot be opened":   "it cannot be opened: in use by another one",
	} {
		err := fault.Wrap(cause, fault.Unavailable, "%s", message)
		if err.Error() != want || !errors.Is(err, cause) {
			t.Errorf("%q, want %q", err.Error(), want)
		}
	}
}
