package decisions

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestDelegateBodyHasEveryMember: a client that keeps to the document may send all that is taken, and no member is
// documented that is refused.
func TestDelegateBodyHasEveryMember(t *testing.T) {
	t.Parallel()
	taken, documented := members[wireDelegate](), members[DelegateBody]()
	if !slices.Equal(taken, documented) {
		t.Errorf("taken: %v; documented: %v", taken, documented)
	}
}

// members are the names of the members of a type in JSON, sorted.
func members[T any]() (names []string) {
	for field := range reflect.TypeFor[T]().Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
