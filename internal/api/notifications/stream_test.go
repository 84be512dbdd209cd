package notifications_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"writ/client"
	"writ/internal/testserver"
)

// streamed is one event of a stream.
type streamed struct{ id, kind, data string }

// reading is a stream that is read.
type reading struct {
	t      *testing.T
	lines  *bufio.Scanner
	cancel context.CancelFunc
}

// read opens the stream of a person, and reads where it begins.
func (o *office) read(p *testserver.Person, after string) *reading {
	o.T.Helper()
	ctx, cancel := context.WithCancel(o.T.Context())
	response, err := p.EventStream(ctx, o.org, after)
	if err != nil {
		o.T.Fatalf("open a stream: %v", err)
	}
	o.T.Cleanup(func() { cancel(); response.Body.Close() })
	if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" {
		o.T.Errorf("Content-Type is %q", kind)
	}
	r := &reading{o.T, bufio.NewScanner(response.Body), cancel}
	if first := r.next(); first.kind != "ready" || after != "" && first.id != after {
		o.T.Errorf("the stream begins with %+v", first)
	}
	return r
}

// next is the next event; its kind is empty when the stream has ended.
func (r *reading) next() (e streamed) {
	r.t.Helper()
	for r.lines.Scan() {
		name, value, _ := strings.Cut(r.lines.Text(), ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.kind = value
		case "data":
			e.data = value
		case "":
			if e.kind != "" {
				return e
			}
		}
	}
	return streamed{}
}

func TestStreamOfTheQueue(t *testing.T) {
	t.Parallel()
	eachOffice(t, func(t *testing.T, o *office) {
		live := o.read(o.approver, "")
		id := o.OpenedApproval(o.agent)
		opened := live.next()
		var data struct {
			Number                            int64
			Kind, Title, RequestID, URL, Tool string
		}
		if err := json.Unmarshal([]byte(opened.data), &data); err != nil || opened.kind != "approval.opened" ||
			data.RequestID != id || data.Tool != "pay" || data.URL != o.URL+"/ui/approvals/"+id {
			t.Errorf("%+v: %v", opened, err)
		}
		if strings.Contains(opened.data, "invoice") {
			t.Errorf("arguments are in the stream: %s", opened.data)
		}
		if _, err := o.approver.Reject(t.Context(), o.org, id, "no"); err != nil {
			t.Fatal(err)
		}
		rejected := live.next()
		if rejected.kind != "approval.rejected" {
			t.Errorf("after a no: %+v", rejected)
		}
		again := o.read(o.owner, opened.id) // what was missed comes, and nothing twice
		if got := again.next(); got != rejected {
			t.Errorf("resumed with %+v, want %+v", got, rejected)
		}
	})
}

// TestStreamShowsOnlyWhatOneMaySee: to a member, the requests of their own agents.
func TestStreamShowsOnlyWhatOneMaySee(t *testing.T) {
	t.Parallel()
	eachOffice(t, func(t *testing.T, o *office) {
		mine := o.read(o.member, "")
		others := o.Public.WithKey(o.KeyFor(o.owner.ID, o.org).Secret.Reveal())
		o.OpenedApproval(others)
		id := o.OpenedApproval(o.agent)
		if got := mine.next(); !strings.Contains(got.data, id) {
			t.Errorf("a member sees %+v first", got)
		}
		outside := o.Person("outsider")
		_, err := outside.EventStream(t.Context(), o.org, "")
		testserver.WantStatus(t, "an outsider's stream", err, http.StatusForbidden)
	})
}

// TestStreamEndsWithTheRightToIt: who may not read any more gets nothing more.
func TestStreamEndsWithTheRightToIt(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(o *office, p *testserver.Person) error{
		"the token expires": func(o *office, _ *testserver.Person) error { o.Advance(16 * time.Minute); return nil },
		"the member is gone": func(o *office, p *testserver.Person) error {
			return o.owner.RemoveMember(o.T.Context(), o.org, p.ID)
		},
		"the session is ended": func(o *office, p *testserver.Person) error { return p.Logout(o.T.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachOffice(t, func(t *testing.T, o *office) {
				live := o.read(o.approver, "")
				if err := lose(o, o.approver); err != nil {
					t.Fatal(err)
				}
				o.OpenedApproval(o.agent)
				if got := live.next(); got.kind != "end" || got.id != "" {
					t.Errorf("after that: %+v", got)
				}
				if got := live.next(); got.kind != "" {
					t.Errorf("the stream goes on: %+v", got)
				}
			})
		})
	}
}

func TestStreamEndsWithTheServer(t *testing.T) {
	t.Parallel()
	eachOffice(t, func(t *testing.T, o *office) {
		live := o.read(o.approver, "")
		o.API.Stopping()
		if got := live.next(); got.kind != "end" {
			t.Errorf("when the server stops: %+v", got)
		}
	})
}

func TestStreamsAreCounted(t *testing.T) {
	t.Parallel()
	eachOffice(t, func(t *testing.T, o *office) {
		var open []*reading
		for range 5 {
			open = append(open, o.read(o.approver, ""))
		}
		_, err := o.approver.EventStream(t.Context(), o.org, "")
		testserver.WantStatus(t, "the sixth", err, http.StatusTooManyRequests)
		o.read(o.owner, "") // another person's are counted by themselves
		open[0].cancel()
		testserver.Soon(t, "a closed one makes room", func() bool {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			response, err := o.approver.EventStream(ctx, o.org, "")
			if err == nil {
				response.Body.Close()
			}
			return err == nil
		})
	})
}

// TestASlowReaderBlocksNobody: one that reads nothing keeps nothing from others.
func TestASlowReaderBlocksNobody(t *testing.T) {
	t.Parallel()
	eachOffice(t, func(t *testing.T, o *office) {
		response, err := o.owner.EventStream(t.Context(), o.org, "") // and never read
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		live := o.read(o.approver, "")
		for range 20 {
			id := o.OpenedApproval(o.agent)
			if got := live.next(); !strings.Contains(got.data, id) {
				t.Fatalf("the other reads %+v", got)
			}
		}
	})
}

func TestHowAStreamBegins(t *testing.T) {
	t.Parallel()
	eachOffice(t, func(t *testing.T, o *office) {
		for _, seen := range []string{"x", "-1", "1.5", "99999999999999999999"} {
			_, err := o.approver.EventStream(t.Context(), o.org, seen)
			testserver.WantStatus(t, "Last-Event-ID "+seen, err, http.StatusBadRequest)
		}
		o.OpenedApproval(o.agent)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		response, err := o.approver.EventStream(ctx, o.org, "1000000") // of a server that was restored since
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		r := &reading{t, bufio.NewScanner(response.Body), cancel}
		if first := r.next(); first.id != "1" {
			t.Errorf("it begins at %+v, want the latest event", first)
		}
		head := o.Request(t, "HEAD", "/notifications/stream?organizationId="+o.org, "",
			testserver.Credentials(o.approver.Client)...)
		if head.Status != http.StatusOK || head.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("HEAD: %d %v", head.Status, head.Header)
		}
		_, err = o.agent.EventStream(t.Context(), o.org, "")
		if client.StatusOf(err) != http.StatusUnauthorized {
			t.Errorf("an agent's stream: %v", err)
		}
	})
}
