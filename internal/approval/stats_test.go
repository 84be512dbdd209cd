package approval_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"writ/internal/approval"
	"writ/internal/database"
	"writ/internal/fault"
	"writ/internal/principal"
	"writ/internal/testenv"
)

// answer is a request of the past: who said yes or no, and when.
type answer struct {
	org       string
	opened    time.Time
	life      time.Duration
	status    approval.Status
	decidedBy string
	decided   time.Time
	coveredBy string
	yeses     map[string]time.Time
}

// add stores a request as its answers left it.
func (e *env) add(a answer) {
	e.T.Helper()
	id := database.NewID()
	var decided *time.Time
	if !a.decided.IsZero() {
		decided = &a.decided
	}
	e.Exec(`
		INSERT INTO approval_request (
			id, org_id, key_id, owner_id, kind, server, tool, digest, arguments, user_id, email, agent_id, session_id, plan_id,
			policy_id, policy_version, rule, reason, message, role, needed, status, note, self_approved, created_at, expires_at,
			decided_at, decided_by, covered_by
		) VALUES ($1, $2, $3, $4, 'hold', 's', 't', $5, '', '', '', '', '', '', '', 0, '', '', '', '', 1, $6, '', 0, $7, $8, $9, $10, $11)`,
		id, a.org, e.key.KeyID, e.ada.UserID, []byte(id), string(a.status), database.Micros(a.opened),
		database.Micros(a.opened.Add(a.life)),
		database.OptionalMicros(decided), a.decidedBy, a.coveredBy)
	for user, at := range a.yeses {
		e.Exec(`INSERT INTO approval_vote (request_id, user_id, created_at) VALUES ($1, $2, $3)`, id, user,
			database.Micros(at))
	}
}

func yes(org, who string, opened time.Time, took time.Duration) answer {
	return answer{
		org:       org,
		opened:    opened,
		life:      time.Hour,
		status:    approval.Approved,
		decidedBy: who,
		decided:   opened.Add(took),
		yeses:     map[string]time.Time{who: opened.Add(took)},
	}
}

func no(org, who string, opened time.Time, took time.Duration) answer {
	return answer{
		org:       org,
		opened:    opened,
		life:      time.Hour,
		status:    approval.Rejected,
		decidedBy: who,
		decided:   opened.Add(took),
	}
}

func pointer[T any](v T) *T { return &v }

func TestFigures(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		elsewhere := e.Organization("Other")
		from := e.DB.Now().Add(-48 * time.Hour)
		over := approval.Period{From: from, Until: from.Add(24 * time.Hour)}
		at := func(d time.Duration) time.Time { return from.Add(d) }
		for _, a := range []answer{
			yes(e.org, "ann", at(time.Hour), time.Second),   // quick
			yes(e.org, "ann", at(time.Hour), 2*time.Second), // just not
			yes(e.org, "ann", at(time.Hour), time.Minute),
			no(e.org, "ann", at(time.Hour), time.Second), // a quick no is no quick yes
			no(e.org, "bob", at(time.Hour), 10*time.Minute),
			yes(e.org, "ann", at(-time.Minute), 2*time.Minute),               // opened before, answered within
			yes(e.org, "ann", at(-time.Hour), 59*time.Minute+59*time.Second), // answered before
			yes(e.org, "ann", at(24*time.Hour-time.Second), time.Second),     // answered after
			yes(elsewhere, "ann", at(time.Hour), time.Second),
			{org: e.org, opened: at(time.Hour), life: time.Minute, status: approval.Expired},
			// nobody noticed yet
			{org: e.org, opened: at(2 * time.Hour), life: time.Minute, status: approval.Pending},
			{
				org:     e.org,
				opened:  at(time.Hour),
				life:    time.Hour,
				status:  approval.Cancelled,
				decided: at(2 * time.Hour),
			},
			{
				org:       e.org,
				opened:    at(time.Hour),
				life:      time.Hour,
				status:    approval.Approved,
				decided:   at(time.Hour),
				coveredBy: "an allow",
			},
			// Two must say yes: one did.
			{
				org:    e.org,
				opened: at(23 * time.Hour),
				life:   72 * time.Hour,
				status: approval.Pending,
				yeses:  map[string]time.Time{"bob": at(23*time.Hour + time.Second)},
			},
		} {
			e.add(a)
		}
		got, err := e.approvals.Stats(t.Context(), e.ada, over)
		if err != nil {
			t.Fatal(err)
		}
		want := approval.Stats{
			Period:         over,
			Opened:         11,
			Waiting:        1,
			Approved:       4,
			Rejected:       2,
			Cancelled:      1,
			Expired:        2,
			Covered:        1,
			MedianTime:     pointer(31 * time.Second),
			ShareApproved:  pointer(4.0 / 6),
			QuickApprovals: 2,
			Approvers: []approval.Approver{
				{
					UserID:         "ann",
					Approved:       4,
					Rejected:       1,
					QuickApprovals: 1,
					MedianTime:     2 * time.Second,
					ShareApproved:  0.8,
				},
				{
					UserID:         "bob",
					Approved:       1,
					Rejected:       1,
					QuickApprovals: 1,
					MedianTime:     5*time.Minute + 500*time.Millisecond,
					ShareApproved:  0.5,
				},
			},
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("figures (-want +got):\n%s", diff)
		}
	})
}

func TestFiguresOfNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		got, err := e.approvals.Stats(t.Context(), e.ada, approval.Period{})
		if err != nil || got.MedianTime != nil || got.ShareApproved != nil || len(got.Approvers) != 0 ||
			got.Until.Sub(got.From) != 30*24*time.Hour {
			t.Errorf("figures of nothing: %+v, %v", got, err)
		}
		now := e.DB.Now()
		for name, over := range map[string]approval.Period{
			"backwards": {From: now, Until: now.Add(-time.Hour)}, "empty": {From: now, Until: now},
			"too long": {From: now.Add(-approval.MaxPeriod - time.Second), Until: now},
		} {
			_, err := e.approvals.Stats(t.Context(), e.ada, over)
			testenv.WantFault(t, name, err, fault.Invalid)
		}
		for name, by := range map[string]principal.Principal{
			"a key": e.key, "a member": e.person(principal.Member), "a viewer": e.person(principal.Viewer),
			"nobody": {},
		} {
			_, err := e.approvals.Stats(t.Context(), by, approval.Period{})
			testenv.WantFault(t, name, err, fault.Forbidden)
		}
	})
}

// TestFiguresAreExact compares with what a person would count by hand, over
// answers at random.
func TestFiguresAreExact(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, e *env) {
		random := rand.New(rand.NewPCG(6, 6))
		from := e.DB.Now().Add(-72 * time.Hour)
		over := approval.Period{From: from, Until: from.Add(36 * time.Hour)}
		var all []answer
		for range 150 {
			who := []string{"ann", "bob", "cy"}[random.IntN(3)]
			later := time.Duration(random.Int64N(int64(40 * time.Hour)))
			opened := from.Add(later - 2*time.Hour).Truncate(time.Microsecond)
			took := (time.Duration(random.Int64N(int64(4*time.Second))) +
				time.Duration(random.IntN(2))*time.Minute).Truncate(time.Microsecond)
			a := yes(e.org, who, opened, took)
			if random.IntN(3) == 0 {
				a = no(e.org, who, opened, took)
			}
			all = append(all, a)
			e.add(a)
		}
		got, err := e.approvals.Stats(t.Context(), e.ada, over)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(byHand(over, all), got); diff != "" {
			t.Errorf("figures (-want +got):\n%s", diff)
		}
	})
}

// byHand counts answers one by one.
func byHand(over approval.Period, all []answer) approval.Stats {
	f := approval.Stats{Period: over}
	times, people := map[string][]time.Duration{}, map[string]*approval.Approver{}
	for _, a := range all {
		if !a.opened.Before(over.From) && a.opened.Before(over.Until) {
			f.Opened++
		}
		if a.decided.Before(over.From) || !a.decided.Before(over.Until) {
			continue
		}
		who, took := a.decidedBy, a.decided.Sub(a.opened)
		if people[who] == nil {
			people[who] = &approval.Approver{UserID: who}
		}
		if a.status == approval.Approved {
			f.Approved++
			people[who].Approved++
			if took < 2*time.Second {
				f.QuickApprovals++
				people[who].QuickApprovals++
			}
		} else {
			f.Rejected++
			people[who].Rejected++
		}
		times[who], times[""] = append(times[who], took), append(times[""], took)
	}
	f.MedianTime, f.ShareApproved = pointer(medianOf(times[""])),
		pointer(float64(f.Approved)/float64(f.Approved+f.Rejected))
	for who, p := range people {
		p.MedianTime, p.ShareApproved = medianOf(times[who]), float64(p.Approved)/float64(p.Approved+p.Rejected)
		f.Approvers = append(f.Approvers, *p)
	}
	slices.SortFunc(f.Approvers, func(a, b approval.Approver) int { return cmp.Compare(a.UserID, b.UserID) })
	return f
}

func medianOf(times []time.Duration) time.Duration {
	slices.Sort(times)
	return (times[(len(times)-1)/2] + times[len(times)/2]) / 2
}
