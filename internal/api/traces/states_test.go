package traces_test

import (
	"testing"
	"time"

	"writ/internal/database"
	"writ/internal/testserver"
)

// TestSessionStates is the status of a session and how it changes (2.4, 3); the
// transitions are those of the package observability's own documentation.
func TestSessionStates(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		want := func(o *observed, session, status string) {
			o.t.Helper()
			if got := o.session(session).Status; got != status {
				o.t.Errorf("the session is %s, want %s", got, status)
			}
		}
		rule("On first sight it is active", func(t *testing.T, o *observed) {
			id := database.NewID()
			o.store(o.inSession(id, time.Minute, nil))
			want(o, id, "active")
		})
		rule("A failed trace does not end it", func(t *testing.T, o *observed) {
			id := database.NewID()
			o.store(o.inSession(id, time.Minute, m{"status": "error"}, o.span("event", m{"status": "error"})))
			want(o, id, "active")
		})
		rule("A session.end event that is ok completes it", func(t *testing.T, o *observed) {
			id := database.NewID()
			o.store(o.inSession(id, 2*time.Minute, nil))
			o.store(o.inSession(id, time.Minute, nil, o.ending(time.Minute, "ok")))
			want(o, id, "completed")
		})
		rule("A session.end event without a status is ok", func(t *testing.T, o *observed) {
			id := database.NewID()
			o.store(o.inSession(id, time.Minute, nil, o.span("event", m{"name": "session.end"})))
			want(o, id, "completed")
		})
		rule("A session.end event that is not ok ends it in error", func(t *testing.T, o *observed) {
			for _, status := range []string{"error", "denied"} {
				id := database.NewID()
				o.store(o.inSession(id, time.Minute, nil, o.ending(time.Minute, status)))
				want(o, id, "error")
			}
		})
		rule("Only an event of that very name ends it", func(t *testing.T, o *observed) {
			id := database.NewID()
			o.store(o.inSession(id, time.Minute, nil, o.span("span", m{"name": "session.end"}),
				o.span("event", m{"name": "Session.End"}), o.span("event", m{"name": "session.ended"})))
			want(o, id, "active")
		})
		rule("The trace that carries the event may go on for a moment", func(t *testing.T, o *observed) {
			id := database.NewID()
			o.store(o.inSession(id, 2*time.Minute, m{"endTime": o.Ago(10 * time.Second)}, o.ending(time.Minute, "ok")))
			want(o, id, "completed")
		})
		rule("Later activity reopens it", func(t *testing.T, o *observed) {
			for _, status := range []string{"ok", "error"} {
				id := database.NewID()
				o.store(o.inSession(id, 3*time.Minute, nil, o.ending(3*time.Minute, status)))
				o.store(o.inSession(id, time.Minute, nil))
				want(o, id, "active")
			}
		})
		rule("Later activity in the same request reopens it, in whatever order", func(t *testing.T, o *observed) {
			for range 2 {
				id := database.NewID()
				ended, later := o.inSession(id, 3*time.Minute, nil, o.ending(3*time.Minute, "ok")),
					o.inSession(id, time.Minute, nil)
				o.store(later, ended)
				want(o, id, "active")
				id = database.NewID()
				ended["trace"], later["trace"] = with(ended["trace"].(m), m{"id": database.NewID(), "sessionId": id}),
					with(later["trace"].(m), m{"id": database.NewID(), "sessionId": id})
				o.store(ended, later)
				want(o, id, "active")
			}
		})
		rule("Activity from before the end that arrives late changes nothing", func(t *testing.T, o *observed) {
			id := database.NewID()
			o.store(o.inSession(id, time.Minute, nil, o.ending(time.Minute, "ok")))
			o.store(o.inSession(id, 5*time.Minute, nil))
			want(o, id, "completed")
			if got := o.session(id).TraceCount; got != 2 {
				t.Errorf("%d traces", got)
			}
		})
		rule("An end that arrives late, from before later activity, changes nothing", func(t *testing.T, o *observed) {
			id := database.NewID()
			o.store(o.inSession(id, time.Minute, nil))
			o.store(o.inSession(id, 5*time.Minute, nil, o.ending(5*time.Minute, "error")))
			want(o, id, "active")
		})
		rule("Of two ends the later one says how it ended", func(t *testing.T, o *observed) {
			id := database.NewID()
			o.store(o.inSession(id, time.Minute, nil, o.ending(time.Minute, "error")))
			o.store(o.inSession(id, 3*time.Minute, nil, o.ending(3*time.Minute, "ok")))
			want(o, id, "error")
		})
		rule("A duplicate of the trace before the end does not reopen it", func(t *testing.T, o *observed) {
			id := database.NewID()
			first := o.inSession(id, time.Minute, nil)
			o.store(first)
			o.store(o.inSession(id, 30*time.Second, nil, o.ending(30*time.Second, "ok")))
			o.send(first)
			want(o, id, "completed")
		})
		rule("An end dated in the future ends it now, and it can go on", func(t *testing.T, o *observed) {
			id := database.NewID()
			o.store(o.inSession(id, time.Minute, nil, o.span("event", m{
				"name": "session.end", "startTime": "9999-01-01T00:00:00Z",
			})))
			want(o, id, "completed")
			o.later(time.Minute)
			o.store(o.inSession(id, 0, nil))
			want(o, id, "active")
		})
		rule("After 30 minutes without activity it is expired, by the clock alone", func(t *testing.T, o *observed) {
			id := database.NewID()
			o.store(o.inSession(id, time.Minute, nil))
			o.later(28 * time.Minute)
			want(o, id, "active")
			o.later(2 * time.Minute)
			want(o, id, "expired")
		})
		rule("What expired is active again with new activity", func(t *testing.T, o *observed) {
			id := database.NewID()
			o.store(o.inSession(id, time.Hour, nil))
			want(o, id, "expired")
			o.store(o.inSession(id, time.Minute, nil))
			want(o, id, "active")
		})
		rule("What ended does not expire", func(t *testing.T, o *observed) {
			completed, failed := database.NewID(), database.NewID()
			o.store(o.inSession(completed, time.Minute, nil, o.ending(time.Minute, "ok")),
				o.inSession(failed, time.Minute, nil, o.ending(time.Minute, "error")))
			o.later(2 * time.Hour)
			want(o, completed, "completed")
			want(o, failed, "error")
		})
	})
}

// TestSessionIdleTimeIsSettable sets WRIT_SESSION_IDLE_MINUTES.
func TestSessionIdleTimeIsSettable(t *testing.T) {
	t.Parallel()
	rules(t, func(s *testserver.Server, rule func(string, func(*testing.T, *observed))) {
		rule("A session expires after the minutes that are set", func(t *testing.T, o *observed) {
			fresh, idle := database.NewID(), database.NewID()
			o.store(o.inSession(fresh, 4*time.Minute, nil), o.inSession(idle, 6*time.Minute, nil))
			if got := o.session(fresh).Status + " " + o.session(idle).Status; got != "active expired" {
				t.Errorf("%s", got)
			}
		})
	}, "WRIT_SESSION_IDLE_MINUTES", "5")
}
