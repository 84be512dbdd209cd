package organization_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"writ/internal/principal"
)

// TestSeatsByDay: the most members at once on each day, counted by hand beside it.
func TestSeatsByDay(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		begin := e.Now().Truncate(24 * time.Hour)
		owner := e.create(t, "Seats")
		org := owner.OrgID
		random := rand.New(rand.NewPCG(3, 4))
		members := []string{}
		var want []int64
		var begins []time.Time
		for day := range 12 {
			most := int64(len(members) + 1)
			for i := range random.IntN(4) {
				if len(members) > 0 && random.IntN(2) == 0 {
					if err := e.service.Remove(t.Context(), owner, members[0], nil); err != nil {
						t.Fatal(err)
					}
					members = members[1:]
				} else {
					id := e.user(t, fmt.Sprintf("m%d-%d@example.org", day, i))
					err := e.service.AddMember(t.Context(), principal.Operator(), org, id, principal.Viewer)
					if err != nil {
						t.Fatal(err)
					}
					members = append(members, id)
				}
				most = max(most, int64(len(members)+1))
			}
			want, begins = append(want, most), append(begins, begin.AddDate(0, 0, day))
			e.Pass(24 * time.Hour)
		}
		end := begin.AddDate(0, 0, 12)
		got, err := e.service.SeatsOf(t.Context(), org, begins, end)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("seats %v, %v, want %v", got, err, want)
		}
		all, err := e.service.AllSeats(t.Context(), begins, end)
		if err != nil || fmt.Sprint(all) != fmt.Sprint(want) {
			t.Errorf("of all: %v, %v, want %v", all, err, want)
		}
		most := int64(0)
		for _, n := range want[3:] {
			most = max(most, n)
		}
		two, err := e.service.SeatsOf(t.Context(), org, []time.Time{begins[3]}, end)
		if err != nil || fmt.Sprint(two) != fmt.Sprint([]int64{most}) {
			t.Errorf("in one period: %v, %v, want %d", two, err, most)
		}
	})
}
